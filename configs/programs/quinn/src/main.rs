//! One QUIC flow of bulk data between a server, which sends, and a client, by quinn.
//!
//! quinn-flow server ADDRESS:PORT CC KEY.pem CERTIFICATE.pem QLOG
//! quinn-flow client ADDRESS:PORT CLIENT_ADDRESS:PORT CERTIFICATE.pem

use std::{env, error::Error, fs::File, io::LineWriter, sync::Arc};

use quinn::{
    congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig},
    ClientConfig, Endpoint, QlogConfig, ServerConfig, TransportConfig, VarInt,
};
use rustls::{
    pki_types::{pem::PemObject, CertificateDer, PrivateKeyDer},
    RootCertStore,
};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// The name in configs/programs/certificate.pem.
const NAME: &str = "nashbed";
/// Bytes that a client lets a server have under way, so that flow control limits nothing.
const WINDOW: u32 = 64 << 20;
const BLOCK: usize = 64 << 10;

fn main() -> Outcome {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match words[..] {
        ["--version"] => Ok(println!("quinn-flow {}, quinn 0.11.12", env!("CARGO_PKG_VERSION"))),
        ["server", at, cc, key, certificate, qlog] => {
            runtime.block_on(serve(at, server_config(cc, key, certificate, qlog)?))
        }
        ["client", to, from, certificate] => {
            runtime.block_on(receive(to, from, client_config(certificate)?))
        }
        _ => Err("see the head of main.rs for how it is called".into()),
    }
}

/// Send to the first client until somebody ends this process.
async fn serve(at: &str, config: ServerConfig) -> Outcome {
    let endpoint = Endpoint::server(config, at.parse()?)?;
    let connection = endpoint.accept().await.ok_or("no connection came")?.await?;
    let mut stream = connection.open_uni().await?;
    let block = [0; BLOCK];
    loop {
        stream.write_all(&block).await?;
    }
}

/// Read what the server sends until somebody ends this process.
async fn receive(to: &str, from: &str, config: ClientConfig) -> Outcome {
    let mut endpoint = Endpoint::client(from.parse()?)?;
    endpoint.set_default_client_config(config);
    let connection = endpoint.connect(to.parse()?, NAME)?.await?;
    let mut stream = connection.accept_uni().await?;
    while stream.read_chunk(usize::MAX, true).await?.is_some() {}
    Err("the server has ended the stream".into())
}

fn server_config(cc: &str, key: &str, certificate: &str, qlog: &str) -> Outcome<ServerConfig> {
    let factory: Arc<dyn ControllerFactory + Send + Sync> = match cc {
        "cubic" => Arc::new(CubicConfig::default()),
        "reno" => Arc::new(NewRenoConfig::default()),
        "bbr" => Arc::new(BbrConfig::default()),
        _ => return Err(format!("{cc}: quinn has cubic, reno and bbr").into()),
    };
    let mut recorded = QlogConfig::default();
    recorded.writer(Box::new(LineWriter::new(File::create(qlog)?)));
    let mut transport = TransportConfig::default();
    transport
        .congestion_controller_factory(factory)
        .send_window(WINDOW.into())
        .qlog_stream(recorded.into_stream());
    let mut config = ServerConfig::with_single_cert(
        vec![CertificateDer::from_pem_file(certificate)?],
        PrivateKeyDer::from_pem_file(key)?,
    )?;
    config.transport_config(Arc::new(transport));
    Ok(config)
}

fn client_config(certificate: &str) -> Outcome<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate)?)?;
    let mut transport = TransportConfig::default();
    transport
        .stream_receive_window(VarInt::from_u32(WINDOW))
        .receive_window(VarInt::from_u32(WINDOW));
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(Arc::new(transport));
    Ok(config)
}
