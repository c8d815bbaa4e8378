//! Where results may be pushed to and pulled from: `remotes:` in pipeline.yaml.
//!
//! A remote is an address, or an address with options. Which addresses can be used is not known here: the program that
//! moves results says so. Credentials never stand in the file, and an address that holds some is refused.

use crate::value::Value;
use crate::value::typed::{ParamError, from_value};
use serde::{Deserialize, Serialize};

/// One remote. It enters no key: it says where results are, not what they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteOptions {
    /// A folder, `https://...` or `s3://BUCKET/PREFIX`.
    pub url: String,
    /// The server of an S3 bucket; the environment's or Amazon's when empty.
    #[serde(default)]
    pub endpoint: String,
    /// The region of an S3 bucket; the environment's when empty.
    #[serde(default)]
    pub region: String,
    /// How an S3 bucket is named to its server: `path` (the default) or `host`.
    #[serde(default)]
    pub style: String,
    /// The public keys that may sign what is there; anybody where there are none.
    #[serde(default)]
    pub keys: Vec<String>,
}

impl RemoteOptions {
    /// Reads and checks one remote: text is its address.
    pub fn from_value(value: &Value) -> Result<Self, ParamError> {
        let options = match value {
            Value::Str(url) => Self { url: url.clone(), ..Self::default() },
            other => from_value(other)?,
        };
        if options.url.is_empty() {
            return Err(ParamError::new("url", "it is empty; write a folder, https://... or s3://BUCKET/PREFIX"));
        }
        for (name, text) in [("url", &options.url), ("endpoint", &options.endpoint)] {
            let host = text.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or(rest));
            if host.contains('@') {
                let why =
                    "it holds credentials, and this file is shared; take them out, they come from the environment";
                return Err(ParamError::new(name, why));
            }
        }
        if !["", "path", "host"].contains(&options.style.as_str()) {
            return Err(ParamError::new("style", format!("`{}` is not known; write `path` or `host`", options.style)));
        }
        let is_key = |key: &&String| key.len() == 64 && key.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if let Some(key) = options.keys.iter().find(|key| !is_key(key)) {
            let why =
                format!("`{key}` is no public key (64 hexadecimal digits, small letters); `repro push` says yours");
            return Err(ParamError::new("keys", why));
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_alone_is_enough_and_credentials_are_refused() {
        let text = |url: &str| RemoteOptions::from_value(&Value::Str(url.into()));
        assert_eq!(text("../shared").unwrap().url, "../shared");
        assert_eq!(text("s3://key:secret@bucket/x").unwrap_err().path, "url");
        assert_eq!(text("https://host/a@b").unwrap().url, "https://host/a@b");
        assert_eq!(text("").unwrap_err().path, "url");
    }
}
