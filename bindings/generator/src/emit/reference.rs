//! The C ABI as JSON, for the reference pages of the documentation site. `docs/site/reference.py` adds the names and argument
//! orders of the other languages from their sources.

use crate::model::{Api, Function};
use anyhow::Result;
use serde_json::{Value, json};

/// Functions with the parts of their documentation, enums, structs, handles and callbacks.
pub fn emit(api: &Api) -> Result<String> {
    let functions = api.functions.iter().map(function);
    let functions = functions.collect::<Result<Vec<_>>>()?;
    let enums: Vec<Value> = api
        .enums
        .iter()
        .map(|item| {
            let members: Vec<Value> = item
                .members
                .iter()
                // A string, because JavaScript would round a large number.
                .map(|member| json!({ "name": member.name, "value": member.value.to_string(), "docs": member.docs.join(" ") }))
                .collect();
            json!({ "name": item.name, "docs": item.docs.join(" "), "members": members })
        })
        .collect();
    let structs: Vec<Value> = api
        .structs
        .iter()
        .map(|item| {
            let fields: Vec<Value> = item
                .fields
                .iter()
                .map(|field| {
                    let length = field.len.map_or(String::new(), |len| format!("[{len}]"));
                    let c = format!("{} {}{length}", field.of.c(), field.name);
                    json!({ "c": c, "docs": field.docs.join(" ") })
                })
                .collect();
            json!({ "name": item.name, "docs": item.docs.join(" "), "fields": fields })
        })
        .collect();
    let named = |name: &str, docs: &[String]| json!({ "name": name, "docs": docs.join(" ") });
    let handles = api.aliases.iter().map(|item| named(&item.name, &item.docs));
    let callbacks = api
        .callbacks
        .iter()
        .map(|item| named(&item.name, &item.docs));
    Ok(serde_json::to_string_pretty(&json!({
        "functions": functions,
        "enums": enums,
        "structs": structs,
        "handles": handles.collect::<Vec<_>>(),
        "callbacks": callbacks.collect::<Vec<_>>(),
    }))?)
}

fn function(item: &Function) -> Result<Value> {
    let parts = item.parts()?;
    let args: Vec<&str> = item.args.iter().map(|arg| arg.name.as_str()).collect();
    Ok(json!({
        "name": item.short(),
        "c": item.c(),
        "args": args,
        "does": parts.does,
        "call": parts.call,
        "standard": parts.standard,
        "result": parts.result("`NVSHMEMRS_SUCCESS`"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository_root;

    #[test]
    fn functions_have_their_declaration_and_the_parts_of_their_documentation() {
        let api = Api::read(&repository_root().join("capi/src")).expect("the sources");
        let text = emit(&api).expect("the reference");
        let all: Value = serde_json::from_str(&text).expect("JSON");
        let functions = all["functions"].as_array().expect("functions");
        assert_eq!(functions.len(), api.functions.len());
        let put = functions.iter().find(|item| item["name"] == "put");
        let put = put.expect("put");
        assert_eq!(
            put["args"],
            json!(["runtime", "dest", "source", "bytes", "pe"])
        );
        assert!(
            put["c"]
                .as_str()
                .expect("C")
                .starts_with("int32_t nvshmemrs_put(")
        );
        assert!(
            put["call"]
                .as_str()
                .expect("who calls")
                .starts_with("One-sided")
        );
        let status = all["enums"].as_array().expect("enums").iter();
        let status = status.filter(|item| item["name"] == "nvshmemrs_status");
        assert_eq!(status.count(), 1);
    }
}
