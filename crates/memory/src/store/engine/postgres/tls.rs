//! Encrypted connections to a server. The server's certificate is always verified, because nothing must be sent to a
//! server that cannot prove its identity.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{ServerError, ServerErrorKind};

/// Returns a connector that trusts the certificates in a file, or the system's by default.
pub(super) fn connector(file: Option<&Path>) -> Result<MakeRustlsConnect, ServerError> {
    let found = match file {
        Some(_) => rustls_native_certs::load_certs_from_paths(file, None),
        None => rustls_native_certs::load_native_certs(),
    };
    let mut roots = RootCertStore::empty();
    let (known, _) = roots.add_parsable_certificates(found.certs);
    if known == 0 {
        let place = file.map_or("this system".to_owned(), |file| format!("`{}`", file.display()));
        return Err(failed(format!("no trusted certificates found in {place}")));
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn failed(message: String) -> ServerError {
    ServerError {
        message,
        kind: ServerErrorKind::Denied,
    }
}
