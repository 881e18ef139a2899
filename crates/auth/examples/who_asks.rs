//! Says whose a token is: `cargo run -p thalweg-auth --example who_asks -- SECRET TOKEN [PATH]`. Without arguments, of a token
//! of its own.

use std::error::Error;
use std::time::{SystemTime, UNIX_EPOCH};
use thalweg_auth::{Keys, RolePath, Verifier};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let secret = arguments.next().unwrap_or("thermals-over-the-ridge-at-noon!".to_owned());
    let token = arguments.next().unwrap_or(
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJyb2xlIjoicGlsb3QifQ.fyAqry7tzVoo3oxdR2TtallcZ6nkVV1Pl92gystZCr0"
            .to_owned(),
    );
    let path = arguments.next().map_or_else(|| Ok(RolePath::default()), |path| RolePath::parse(&path))?;
    let verifier = Verifier::new(Keys::parse(secret.as_bytes())?, path, None);
    for warning in verifier.warnings() {
        eprintln!("{warning}");
    }
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    match verifier.identify(token.as_bytes(), i64::try_from(now_s)?) {
        Ok(identity) => match identity.role() {
            Some(role) => println!("role {role}, claims {}", identity.claims_as(role)),
            None => println!("no role: anonymous"),
        },
        Err(refusal) => {
            println!("refused: {refusal}{}", refusal.details().map(|d| format!(" ({d})")).unwrap_or_default())
        }
    }
    Ok(())
}
