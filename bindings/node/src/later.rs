//! Work on another thread, for promises.

use std::panic::{AssertUnwindSafe, catch_unwind};

use napi::{
    Env, Error, Result, Task,
    bindgen_prelude::{AsyncTask, ToNapiValue, TypeName},
};

use crate::error;

type Work<T> = Box<dyn FnOnce() -> Result<T> + Send>;

/// Work that is done on a thread of Node's pool; `wrap` makes a value for JavaScript of its result.
pub struct Later<T, J> {
    work: Option<Work<T>>,
    wrap: fn(T) -> J,
}

impl<T: Send + 'static, J: ToNapiValue + TypeName + 'static> Later<T, J> {
    /// A promise of the result.
    pub(crate) fn promise(
        work: impl FnOnce() -> Result<T> + Send + 'static,
        wrap: fn(T) -> J,
    ) -> AsyncTask<Self> {
        AsyncTask::new(Self { work: Some(Box::new(work)), wrap })
    }
}

impl<T: Send + 'static, J: ToNapiValue + TypeName + 'static> Task for Later<T, J> {
    type Output = T;
    type JsValue = J;

    fn compute(&mut self) -> Result<T> {
        let Some(work) = self.work.take() else { return Err(error::misuse(&"this was done before")) };
        caught(work)
    }

    fn resolve(&mut self, _: Env, output: T) -> Result<J> {
        Ok((self.wrap)(output))
    }
}

/// Runs `work` and makes an error of a panic, which would end the process.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let failed =
        |_| -> Error { error::misuse(&"Lockgate panicked, so nothing was let pass; please report this") };
    catch_unwind(AssertUnwindSafe(work)).map_err(failed).flatten()
}
