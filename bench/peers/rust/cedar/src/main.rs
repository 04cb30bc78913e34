//! Does jobs with Cedar, as its users do: a policy set from text, a request, the authorizer.
//!
//! The request is made before time is kept, because what Lockgate judges is a ready call too. A user makes one for
//! each call, so this is in Cedar's favour. Schemas are left out: no decision needs them, and they cost time.

use std::{error::Error, process::ExitCode, time::Duration};

use cedar_policy::{Authorizer, Context, Decision, Entities, EntityUid, PolicySet, Request};
use lockgate_peers::{
    Outcome, answer, cannot, done,
    job::{self, Job, Task, Told},
    pace::pace,
    texts, told,
};

fn main() -> ExitCode {
    answer(run)
}

fn run(job: &Job) -> Outcome {
    let budget = Duration::from_millis(job.budget_ms);
    Ok(match job.task {
        Task::Judge if !job.earlier.is_empty() => cannot("knows nothing but the request"),
        Task::Judge => {
            let call = job.call.as_ref().ok_or("the job has no call to judge")?;
            let (policies, entities, request) = (load(job)?, Entities::empty(), request(call)?);
            let authorizer = Authorizer::new();
            let verdict = decide(&authorizer, &request, &policies, &entities)?;
            let pace = pace(budget, || authorizer.is_authorized(&request, &policies, &entities));
            done(format!("{}, request ready made", cedar_policy::get_sdk_version()), Some(verdict), pace)
        }
        Task::Load => {
            load(job)?;
            done(cedar_policy::get_sdk_version().to_string(), None, pace(budget, || load(job).is_ok()))
        }
        Task::Commit | Task::Store | Task::Recall => cannot("remembers nothing"),
        Task::Prove => cannot("needs another program, and a solver"),
        Task::Sessions | Task::See | Task::Explore => cannot("has no such thing"),
    })
}

fn load(job: &Job) -> Result<PolicySet, Box<dyn Error>> {
    Ok(texts(job, "cedar")?.parse()?)
}

fn request(call: &job::Request) -> Result<Request, Box<dyn Error>> {
    let uid = |kind: &str, id: &str| -> Result<EntityUid, Box<dyn Error>> {
        Ok(EntityUid::from_type_name_and_id(kind.parse()?, id.parse()?))
    };
    let context = Context::from_json_value(call.input.clone().into(), None)?;
    Ok(Request::new(uid("Agent", "agent")?, uid("Action", &call.tool)?, uid("Host", "host")?, context, None)?)
}

/// One decision, looked at closely: Cedar passes over rules that fail, and a figure for that would be a wrong one.
fn decide(
    authorizer: &Authorizer,
    request: &Request,
    policies: &PolicySet,
    entities: &Entities,
) -> Result<Told, Box<dyn Error>> {
    let response = authorizer.is_authorized(request, policies, entities);
    match response.diagnostics().errors().next() {
        Some(problem) => Err(format!("a rule could not be evaluated: {problem}").into()),
        None => Ok(told(response.decision() == Decision::Allow)),
    }
}
