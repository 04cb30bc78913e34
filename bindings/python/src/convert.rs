//! Python values as JSON, and back.
//!
//! What the gate judges must be what the tool gets, so whatever is not plain JSON is refused: other types, keys that are not
//! strings, numbers that JSON does not have, and text that is not Unicode.

use pyo3::{
    BoundObject,
    prelude::*,
    types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple},
};
use serde_json::{Map, Number, Value};

use crate::error;

/// How deep values may be nested.
const DEPTH_MAX: usize = 100;

/// A Python value as JSON.
pub(crate) fn to_json(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    json_at(value, 0)
}

/// A Python value that is a dict, or None for an empty one.
pub(crate) fn to_object(value: Option<&Bound<'_, PyAny>>) -> PyResult<Map<String, Value>> {
    match value.map(to_json).transpose()? {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(map)) => Ok(map),
        Some(_) => {
            let value = value.map(|value| value.get_type().to_string()).unwrap_or_default();
            Err(error::input(format!("a dict is needed here, not {value}")))
        }
    }
}

fn json_at(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > DEPTH_MAX {
        return Err(error::input(format!("a value is nested more than {DEPTH_MAX} levels deep")));
    }
    if value.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(text) = value.cast::<PyString>() {
        // A lone surrogate is not Unicode, and two programs read it in two ways.
        let text = text.to_str().map_err(|_| error::input("a string is not valid Unicode"))?;
        return Ok(Value::from(text));
    }
    // Before the integers: a bool is one of them.
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Value::Bool(flag.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        let number =
            value.extract::<i64>().map(Number::from).or_else(|_| value.extract::<u64>().map(Number::from));
        return number
            .map(Value::Number)
            .map_err(|_| error::input(format!("the integer {value} does not fit into 64 bits")));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Number::from_f64(number.value())
            .map(Value::Number)
            .ok_or_else(|| error::input(format!("JSON has no number {value}")));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        let mut map = Map::with_capacity(dict.len());
        for (key, value) in dict {
            let Ok(key) = key.cast::<PyString>() else {
                return Err(error::input(format!("the key {key} is not a string")));
            };
            let key = key.to_str().map_err(|_| error::input("a key is not valid Unicode"))?;
            map.insert(key.to_owned(), json_at(&value, depth + 1)?);
        }
        return Ok(Value::Object(map));
    }
    let items = |items: &mut dyn Iterator<Item = Bound<'_, PyAny>>| {
        items.map(|item| json_at(&item, depth + 1)).collect::<PyResult<Vec<Value>>>().map(Value::Array)
    };
    if let Ok(list) = value.cast::<PyList>() {
        return items(&mut list.iter());
    }
    if let Ok(tuple) = value.cast::<PyTuple>() {
        return items(&mut tuple.iter());
    }
    Err(error::input(format!("a {} is not plain JSON", value.get_type().name()?)))
}

/// A JSON value as Python has it.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(flag) => PyBool::new(py, *flag).into_bound().into_any(),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(integer), _) => integer.into_pyobject(py)?.into_any(),
            (None, Some(integer)) => integer.into_pyobject(py)?.into_any(),
            (None, None) => number.as_f64().into_pyobject(py)?.into_any(),
        },
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(to_python(py, item)?)?;
            }
            list.into_any()
        }
        Value::Object(map) => object_to_python(py, map)?.into_any(),
    })
}

/// A JSON object as a dict.
pub(crate) fn object_to_python<'py>(
    py: Python<'py>,
    map: &Map<String, Value>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, value) in map {
        dict.set_item(key, to_python(py, value)?)?;
    }
    Ok(dict)
}
