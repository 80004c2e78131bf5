//! One invented secret for every rule. They are assembled at run time, so that secret scanners do not flag this
//! repository.

pub(super) const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
pub(super) const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
pub(super) const HEX: &str = "0123456789abcdef";

/// An alphabet without vowels, so that short values never read like words.
const NO_VOWELS: &str = "BCDFGHJKLMNPQRSTVWXZbcdfghjklmnpqrstvwxz0123456789";

/// A text, the secret in it, and the rule that should find it.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) rule: &'static str,
    pub(super) text: String,
    pub(super) secret: String,
}

/// Returns pseudo-random characters of an alphabet, always the same for a seed.
pub(super) fn noise(alphabet: &str, count: usize, seed: u64) -> String {
    let alphabet = alphabet.as_bytes();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        char::from(alphabet[(state >> 33) as usize % alphabet.len()])
    };
    (0..count).map(|_| next()).collect()
}

/// Does the same, with a typical number of digits: with fewer, a few in a thousand read like words and would not be
/// masked.
fn noise_with_digits(alphabet: &str, count: usize, seed: u64) -> String {
    let mut tries = (0..1000).map(|again| noise(alphabet, count, seed.wrapping_add(again << 32)));
    let has_digits = |noise: &String| noise.bytes().filter(u8::is_ascii_digit).count() * 8 >= count.min(60);
    tries.find(has_digits).unwrap_or_default()
}

/// Returns the secret of a rule's sample.
pub(super) fn token(rule: &str) -> String {
    all_samples()
        .into_iter()
        .find(|sample| sample.rule == rule)
        .unwrap()
        .secret
}

/// Returns a private key in a block, with `between` between its lines.
pub(super) fn private_key(between: &str) -> String {
    private_key_of(0, between)
}

fn private_key_of(seed: u64, between: &str) -> String {
    let line = |number| noise(&format!("{ALNUM}+/"), 64, seed + number);
    let begin = ["-----BEGIN RSA ", "PRIVATE KEY-----"].concat();
    let end = ["-----END RSA ", "PRIVATE KEY-----"].concat();
    [
        begin,
        line(1),
        line(2),
        line(3),
        format!("{}4Q==", noise(ALNUM, 20, seed + 9)),
        end,
    ]
    .join(between)
}

/// `(rule, text before, beginning of the secret in two pieces, alphabet, length, end of the secret)`.
type Form = (
    &'static str,
    &'static str,
    [&'static str; 2],
    &'static str,
    usize,
    &'static str,
);

const FORMS: &[Form] = &[
    ("github-token", "", ["gh", "p_"], ALNUM, 36, ""),
    ("aws-access-key", "", ["AK", "IA"], UPPER, 16, ""),
    ("aws-bedrock-key", "", ["AB", "SK"], ALNUM, 120, "=="),
    ("google-api-key", "", ["AI", "za"], ALNUM, 35, ""),
    ("google-auth-key", "", ["AQ.", "Ab8RN6"], ALNUM, 44, ""),
    ("google-access-token", "", ["ya", "29."], ALNUM, 60, ""),
    ("google-client-secret", "", ["GOC", "SPX-"], ALNUM, 28, ""),
    ("google-refresh-token", "", ["1/", "/0"], ALNUM, 60, ""),
    ("azure-client-secret", "", ["aB3", "8Q~"], ALNUM, 34, ""),
    ("azure-account-key", "Account\x4bey=", ["", ""], ALNUM, 86, "=="),
    ("azure-access-key", "SharedAccess\x4bey=", ["", ""], ALNUM, 43, "="),
    ("azure-sas", "?sv=2024&si\x67=", ["", ""], ALNUM, 43, "%3D"),
    ("digitalocean-token", "", ["dop", "_v1_"], HEX, 64, ""),
    ("alibaba-access-key", "", ["LT", "AI"], ALNUM, 20, ""),
    (
        "cloudflare-ca-key",
        "",
        ["v1", ".0-0a1b2c3d4e5f6a7b8c9d0e1f-"],
        HEX,
        146,
        "",
    ),
    ("heroku-key", "", ["HRKU", "-AA"], ALNUM, 58, ""),
    ("fly-token", "Fly\x561 ", ["fm", "2_"], ALNUM, 80, ""),
    ("fly-access-token", "", ["fo", "1_"], ALNUM, 43, ""),
    ("vercel-token", "", ["vc", "p_"], ALNUM, 56, ""),
    ("netlify-token", "", ["nf", "p_"], ALNUM, 36, ""),
    ("render-key", "", ["rn", "d_"], ALNUM, 32, ""),
    ("planetscale-token", "", ["pscale", "_tkn_"], ALNUM, 43, ""),
    ("neon-key", "", ["na", "pi_"], LOWER, 64, ""),
    ("supabase-token", "", ["sb", "p_"], HEX, 40, ""),
    ("supabase-secret-key", "", ["sb_", "secret_"], ALNUM, 31, ""),
    ("databricks-token", "", ["da", "pi"], HEX, 32, "-2"),
    ("openshift-token", "", ["sha", "256~"], ALNUM, 43, ""),
    ("pulumi-token", "", ["pu", "l-"], HEX, 40, ""),
    ("terraform-token", "", ["a1B2c3D4e5F6g7", ".atlasv1."], ALNUM, 67, ""),
    ("github-app-token", "", ["gh", "s_"], ALNUM, 36, ""),
    ("github-pat", "", ["github", "_pat_"], ALNUM, 82, ""),
    ("gitlab-token", "", ["gl", "pat-"], ALNUM, 20, ""),
    ("gitlab-runner-token", "", ["GR13", "48941"], ALNUM, 20, ""),
    ("bitbucket-password", "", ["AT", "BB"], ALNUM, 28, "0A1B"),
    ("atlassian-token", "", ["ATA", "TT3"], ALNUM, 186, ""),
    ("npm-token", "", ["np", "m_"], ALNUM, 36, ""),
    (
        "npmrc-auth",
        "//registry.local/:_auth\x54oken=",
        ["", ""],
        ALNUM,
        30,
        "",
    ),
    ("pypi-token", "", ["py", "pi-AgEIcHlwaS5vcmc"], ALNUM, 140, ""),
    ("crates-token", "", ["ci", "o"], ALNUM, 32, ""),
    ("rubygems-key", "", ["ruby", "gems_"], HEX, 48, ""),
    ("clojars-token", "", ["CLO", "JARS_"], LOWER, 60, ""),
    ("docker-token", "", ["dckr", "_pat_"], ALNUM, 27, ""),
    ("artifactory-key", "", ["AK", "Cp"], ALNUM, 69, ""),
    ("sonar-token", "", ["sq", "p_"], HEX, 40, ""),
    ("sourcegraph-token", "", ["sg", "p_"], HEX, 40, ""),
    ("buildkite-token", "", ["bk", "ua_"], LOWER, 40, ""),
    (
        "circleci-token",
        "",
        ["CCI", "PAT_A1b2C3d4E5f6G7h8I9j0Kl_"],
        HEX,
        40,
        "",
    ),
    ("anthropic-key", "", ["sk-", "ant-api03-"], ALNUM, 93, "AA"),
    ("openrouter-key", "", ["sk-", "or-v1-"], HEX, 64, ""),
    ("openai-key", "", ["sk-", "proj-"], ALNUM, 120, ""),
    ("sk-key", "", ["sk-", "a1B2c3D4e5F6g7H8i9J0T3BlbkFJ"], ALNUM, 20, ""),
    ("langfuse-key", "", ["sk-", "lf-0a1b2c3d-0a1b-4c2d-8e3f-"], HEX, 12, ""),
    ("sk-key", "", ["sk", "-"], HEX, 32, ""),
    ("moonshot-key", "", ["sk-", "kimi-"], ALNUM, 48, ""),
    ("xai-key", "", ["xa", "i-"], ALNUM, 80, ""),
    ("groq-key", "", ["gs", "k_"], ALNUM, 52, ""),
    ("cerebras-key", "", ["cs", "k-"], LOWER, 48, ""),
    ("perplexity-key", "", ["pp", "lx-"], ALNUM, 48, ""),
    ("replicate-token", "", ["r", "8_"], ALNUM, 37, ""),
    ("huggingface-token", "", ["h", "f_"], ALNUM, 34, ""),
    ("huggingface-org-token", "", ["api", "_org_"], ALNUM, 34, ""),
    ("nvidia-key", "", ["nv", "api-"], ALNUM, 64, ""),
    ("fireworks-key", "", ["f", "w_"], ALNUM, 24, ""),
    ("langsmith-key", "", ["lsv2", "_pt_"], HEX, 32, "_0a1b2c3d4e"),
    ("pinecone-key", "", ["pc", "sk_"], ALNUM, 60, ""),
    ("cursor-key", "cursor: ", ["ke", "y_"], HEX, 64, ""),
    ("e2b-key", "", ["e2", "b_"], HEX, 40, ""),
    ("tavily-key", "", ["tv", "ly-"], ALNUM, 32, ""),
    ("firecrawl-key", "", ["f", "c-"], HEX, 32, ""),
    ("jina-key", "", ["ji", "na_"], HEX, 60, ""),
    ("elevenlabs-key", "", ["s", "k_"], HEX, 48, ""),
    ("context7-key", "", ["ctx7", "sk-0a1b2c3d-0a1b-4c2d-8e3f-"], HEX, 12, ""),
    ("slack-token", "", ["xo", "xb-"], "0123456789", 12, "-a1B2c3D4e5F6"),
    ("slack-app-token", "", ["xa", "pp-1-"], ALNUM, 60, ""),
    (
        "slack-webhook",
        "https://hooks.sla\x63k.com/services/",
        ["T0", "1AB/"],
        ALNUM,
        36,
        "",
    ),
    (
        "discord-webhook",
        "https://discord.com/api/web\x68ooks/123456789012345678/",
        ["", ""],
        ALNUM,
        68,
        "",
    ),
    (
        "discord-token",
        "",
        ["MTIzNDU2", "Nzg5MDEyMzQ1Njc4.Gx3kTq."],
        ALNUM,
        38,
        "",
    ),
    ("telegram-token", "", ["1234567", "89:AA"], ALNUM, 33, ""),
    ("sendgrid-key", "", ["S", "G.a1B2c3D4e5F6g7H8i9J0kL."], ALNUM, 43, ""),
    ("mailgun-key", "", ["ke", "y-"], HEX, 32, ""),
    ("brevo-key", "", ["xkey", "sib-"], HEX, 64, "-a1B2c3D4e5F6g7H8"),
    ("resend-key", "", ["r", "e_a1B2c3D4_"], ALNUM, 24, ""),
    ("twilio-key", "Twilio SID is ", ["S", "K"], HEX, 32, ""),
    ("linear-key", "", ["lin", "_api_"], ALNUM, 40, ""),
    ("notion-token", "", ["nt", "n_"], ALNUM, 46, ""),
    ("notion-secret", "", ["sec", "ret_"], ALNUM, 43, ""),
    ("figma-token", "", ["fi", "gd_"], ALNUM, 40, ""),
    ("postman-key", "", ["PM", "AK-0a1b2c3d4e5f6a7b8c9d0e1f-"], HEX, 34, ""),
    (
        "hubspot-token",
        "",
        ["pat", "-na1-0a1b2c3d-0a1b-4c2d-8e3f-"],
        HEX,
        12,
        "",
    ),
    ("shopify-token", "", ["shp", "at_"], HEX, 32, ""),
    ("posthog-key", "", ["ph", "x_"], ALNUM, 43, ""),
    ("stripe-key", "", ["sk_", "live_"], ALNUM, 24, ""),
    ("webhook-secret", "", ["wh", "sec_"], ALNUM, 32, ""),
    ("square-token", "", ["sq0", "atp-"], ALNUM, 22, ""),
    ("sentry-token", "", ["sntry", "s_"], ALNUM, 80, ""),
    ("grafana-token", "", ["gl", "c_"], ALNUM, 60, "=="),
    ("grafana-service-token", "", ["gl", "sa_"], ALNUM, 32, "_0a1b2c3d"),
    ("newrelic-key", "", ["NR", "AK-"], UPPER, 27, ""),
    (
        "dynatrace-token",
        "",
        ["dt0", "c01.A1B2C3D4E5F6G7H8I9J0K1L2."],
        UPPER,
        64,
        "",
    ),
    ("vault-token", "", ["hv", "s."], ALNUM, 90, ""),
    ("doppler-token", "", ["dp", ".pt."], ALNUM, 43, ""),
    ("onepassword-token", "", ["ops", "_eyJ"], ALNUM, 260, "="),
    (
        "onepassword-key",
        "",
        ["A", "3-A1B2C3-D4E5F6-G7H8I-"],
        UPPER,
        5,
        "-K1L2M-N3O4P",
    ),
    (
        "base64-private-key",
        "",
        ["LS0tLS1CRUdJTi", "BQUklWQVRFIEtFWS0tLS0t"],
        ALNUM,
        80,
        "",
    ),
    ("age-key", "", ["AGE-", "SECRET-KEY-1"], UPPER, 58, ""),
    ("tailscale-key", "", ["ts", "key-auth-"], ALNUM, 30, ""),
    // Rules by place and name, which are not in the table.
    (
        "jwt",
        "",
        ["ey", "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0."],
        ALNUM,
        43,
        "",
    ),
    ("aws-secret-key", "AWS_SECRET_ACCESS_\x4bEY=", ["", ""], ALNUM, 40, ""),
    ("url-password", "postgres://app:", ["", ""], ALNUM, 12, ""),
    ("authorization", "Authorization: Bearer ", ["", ""], ALNUM, 30, ""),
    ("api-key-header", "X-Api-Key: ", ["", ""], ALNUM, 20, ""),
    ("cookie", "Cookie: theme=dark; sid=", ["", ""], ALNUM, 30, ""),
    ("named-secret", "client_sec\x72et = ", ["", ""], ALNUM, 24, ""),
    ("password", "DB_PASS\x57ORD=", ["", ""], ALNUM, 24, "!"),
    ("env-secret", "export API_SEC\x52ET=", ["", ""], NO_VOWELS, 12, ""),
    ("flag-secret", "tool --tok\x65n ", ["", ""], ALNUM, 10, ""),
    ("curl-password", "curl -u alice:", ["", ""], ALNUM, 10, ""),
    ("command-password", "sshpass -p ", ["", ""], ALNUM, 10, ""),
    (
        "netrc-password",
        "machine h login ada pass\x77ord ",
        ["", ""],
        ALNUM,
        12,
        "",
    ),
    ("pgpass-password", "db.internal:5432:app:ada:", ["", ""], ALNUM, 12, ""),
    ("key-data", "client-key-da\x74a: ", ["", ""], ALNUM, 120, "="),
    // `ad:` followed by printable characters.
    ("basic-auth", "auth: ", ["YW", "Q6"], "ijklmnopqrstuvyz01234567", 24, ""),
];

/// Returns one sample for every rule, always the same.
pub(super) fn all_samples() -> Vec<Sample> {
    samples_of(0)
}

/// Returns one sample for every rule, with different secrets for every seed.
pub(super) fn samples_of(seed: u64) -> Vec<Sample> {
    let seed = seed * 1000;
    let mut samples: Vec<_> = FORMS
        .iter()
        .zip(seed + 1..)
        .map(|(form, seed)| sample(form, seed))
        .collect();
    let key = private_key_of(seed, "\n");
    samples.push(Sample {
        rule: "private-key",
        text: key.clone(),
        secret: key,
    });
    samples
}

fn sample(form: &Form, seed: u64) -> Sample {
    let (rule, before, [first, second], alphabet, count, end) = *form;
    let secret = format!("{first}{second}{}{end}", noise_with_digits(alphabet, count, seed));
    let after = if rule == "url-password" {
        "@db.internal:5432/app"
    } else {
        ""
    };
    Sample {
        rule,
        text: format!("{before}{secret}{after}"),
        secret,
    }
}
