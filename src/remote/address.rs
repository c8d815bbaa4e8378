//! Addresses of remotes: a folder, `https://...`, `s3://BUCKET/PREFIX`.

use crate::error::{Error, Result};
use crate::transport::{Remote, folder::Folder, http::Http, s3::S3};
use pipeline::RemoteOptions;
use std::path::{Path, PathBuf};

/// Where a remote is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A folder of this machine or of a shared disk.
    Folder(PathBuf),
    /// A folder behind a web server: read only, and nothing is ever listed.
    Http(String),
    /// A bucket of an S3 server.
    S3(Bucket),
}

/// A bucket and how to reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Its name.
    pub name: String,
    /// The prefix of all names in the bucket: empty, or without a slash at either end.
    pub prefix: String,
    /// The address of the server, for example `https://s3.example.org`.
    pub endpoint: String,
    /// Its region.
    pub region: String,
    /// Whether the name of the bucket stands in the host name instead of the path.
    pub host_style: bool,
}

/// The value of the first of these environment variables that is set and not empty.
fn variable(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

impl Address {
    /// The address in these options; a relative folder is relative to `project`.
    pub fn new(options: &RemoteOptions, project: &Path) -> Result<Self> {
        let url = options.url.as_str();
        let wrong = |what: String| Err(Error::Address(format!("remote {url}: {what}")));
        match url.split_once("://") {
            None => Ok(Self::Folder(project.join(url))),
            Some(("file", path)) => Ok(Self::Folder(project.join(path))),
            Some(("http" | "https", rest)) if !rest.is_empty() => Ok(Self::Http(url.trim_end_matches('/').to_string())),
            Some(("s3", rest)) => {
                let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
                if name.is_empty() {
                    return wrong("the bucket is missing; write s3://BUCKET/PREFIX".to_string());
                }
                let given = |text: &String| (!text.is_empty()).then(|| text.clone());
                let region = given(&options.region).or_else(|| variable(&["AWS_REGION", "AWS_DEFAULT_REGION"]));
                let region = region.unwrap_or_else(|| "us-east-1".to_string());
                let endpoint =
                    given(&options.endpoint).or_else(|| variable(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]));
                let endpoint = endpoint.unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com"));
                let (name, prefix) = (name.to_string(), prefix.trim_matches('/').to_string());
                Ok(Self::S3(Bucket { name, prefix, endpoint, region, host_style: options.style == "host" }))
            }
            Some((scheme, _)) => {
                wrong(format!("`{scheme}` is not known; write a folder, https://... or s3://BUCKET/PREFIX"))
            }
        }
    }

    /// Opens the remote at this address.
    pub fn open(&self) -> Result<Remote> {
        Ok(match self {
            Self::Folder(path) => Remote::new(path.display().to_string(), Box::new(Folder::new(path.clone()))),
            Self::Http(url) => Remote::new(url.clone(), Box::new(Http::new(url)?)),
            Self::S3(bucket) => {
                let slash = if bucket.prefix.is_empty() { "" } else { "/" };
                let name = format!("s3://{}{slash}{}", bucket.name, bucket.prefix);
                Remote::new(name, Box::new(S3::new(bucket)?))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str) -> Result<Address> {
        let options =
            RemoteOptions { url: url.into(), region: "r".into(), endpoint: "http://e".into(), ..Default::default() };
        Address::new(&options, Path::new("/project"))
    }

    #[test]
    fn addresses_are_told_apart() {
        assert_eq!(address("../x").unwrap(), Address::Folder("/project/../x".into()));
        assert_eq!(address("https://h/x/").unwrap(), Address::Http("https://h/x".into()));
        let Address::S3(bucket) = address("s3://b/p/q/").unwrap() else { panic!() };
        assert_eq!((bucket.name.as_str(), bucket.prefix.as_str(), bucket.host_style), ("b", "p/q", false));
        assert!(address("ftp://h").unwrap_err().to_string().contains("`ftp` is not known"));
        assert!(address("s3:///p").unwrap_err().to_string().contains("the bucket is missing"));
    }
}
