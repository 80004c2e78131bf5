//! The precise rules: the forms of tokens, one row each.
//!
//! The gates of a row are plain strings, of which every token of that form contains at least one; the pattern is then
//! tried at that position only. Patterns match the minimum that makes the form certain, with bounded repetition; the
//! tail then extends the match over the rest of the token. The forms are public facts, as vendors document them and as
//! the rule lists of gitleaks, betterleaks and secretlint (MIT) collect them.

/// The characters that extend a token after the match of its pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    /// None: a letter, a digit or `_` directly after the match means that it is not such a token.
    Exact,
    /// Letters, digits, `_`.
    Word,
    /// Letters, digits, `_`, `-`.
    Dash,
    /// Letters, digits, `_`, `-`, `.`, `~`; a dot at the end belongs to the sentence.
    Dots,
    /// Letters, digits, `+`, `/`, `=`, `_`, `-`, `%`.
    Base64,
}

/// The start of the pattern, relative to the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Back {
    /// At the gate.
    Gate,
    /// This many bytes before it.
    Bytes(usize),
    /// At the first of the digits before it.
    Digits,
}

/// One form of token.
#[derive(Debug)]
pub(super) struct Rule {
    /// The name in the tag.
    pub(super) name: &'static str,
    /// Strings of which every such token contains at least one, case-sensitive.
    pub(super) gates: &'static [&'static str],
    /// An ASCII pattern. Its first group is the secret; without a group, the whole match is.
    pub(super) pattern: &'static str,
    pub(super) tail: Tail,
    pub(super) back: Back,
    /// A word that must occur nearby, in any case.
    pub(super) near: Option<&'static str>,
    /// `true` if the secret must contain a digit and must not look like words, because its short prefix is weak
    /// evidence.
    pub(super) digit: bool,
}

impl Rule {
    /// Returns `true` if the gate is a name beside the secret, not the beginning of the secret.
    pub(super) fn names_its_place(&self) -> bool {
        self.pattern
            .as_bytes()
            .windows(2)
            .any(|pair| pair[0] == b'(' && pair[1] != b'?')
    }

    const fn near(mut self, word: &'static str) -> Rule {
        self.near = Some(word);
        self
    }

    const fn back(mut self, back: Back) -> Rule {
        self.back = back;
        self
    }

    const fn digit(mut self) -> Rule {
        self.digit = true;
        self
    }
}

const fn rule(name: &'static str, gates: &'static [&'static str], pattern: &'static str, tail: Tail) -> Rule {
    Rule {
        name,
        gates,
        pattern,
        tail,
        back: Back::Gate,
        near: None,
        digit: false,
    }
}

use Tail::{Base64, Dash, Dots, Exact, Word};

/// All precise rules. If two match, the first one names the secret.
pub(super) const RULES: &[Rule] = &[
    // Clouds.
    rule(
        "aws-access-key",
        &["AKIA", "ASIA", "ABIA", "ACCA", "A3T"],
        r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}",
        Exact,
    ),
    rule("aws-bedrock-key", &["ABSK"], r"ABSK[A-Za-z0-9+/]{109}", Base64),
    rule("google-api-key", &["AIza"], r"AIza[\w-]{35}", Dash),
    rule("google-auth-key", &["AQ.Ab8RN6"], r"AQ\.Ab8RN6[\w-]{30}", Dash),
    rule("google-access-token", &["ya29."], r"ya29\.[\w-]{20}", Dots),
    rule("google-client-secret", &["GOCSPX-"], r"GOCSPX-[\w-]{28}", Dash),
    rule("google-refresh-token", &["1//0"], r"1//0[\w-]{40}", Dash),
    rule(
        "azure-client-secret",
        &["0Q~", "1Q~", "2Q~", "3Q~", "4Q~", "5Q~", "6Q~", "7Q~", "8Q~", "9Q~"],
        r"[\w.~]{3}[0-9]Q~[\w.~-]{31}",
        Dots,
    )
    .back(Back::Bytes(3)),
    rule(
        "azure-account-key",
        &["AccountKey="],
        r"AccountKey=([A-Za-z0-9+/]{40})",
        Base64,
    ),
    rule(
        "azure-access-key",
        &["SharedAccessKey="],
        r"SharedAccessKey=([A-Za-z0-9+/]{40})",
        Base64,
    ),
    rule(
        "azure-sas",
        &["sig="],
        r"sig=([A-Za-z0-9%+/]{40,90}(?:=|%3[Dd]))",
        Base64,
    ),
    rule(
        "digitalocean-token",
        &["doo_v1_", "dop_v1_", "dor_v1_"],
        r"do[opr]_v1_[a-f0-9]{64}",
        Word,
    ),
    rule("alibaba-access-key", &["LTAI"], r"LTAI[A-Za-z0-9]{20}", Exact).digit(),
    rule(
        "cloudflare-ca-key",
        &["v1.0-"],
        r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}",
        Exact,
    ),
    rule("heroku-key", &["HRKU-AA"], r"HRKU-AA[\w-]{20}", Dash),
    rule(
        "fly-token",
        &["FlyV1 "],
        r"FlyV1 (fm[12][ar]?_[A-Za-z0-9+/=]{40})",
        Base64,
    ),
    rule("fly-access-token", &["fo1_"], r"fo1_[\w-]{43}", Dash),
    rule(
        "vercel-token",
        &["vcp_", "vck_", "vci_", "vca_", "vcr_"],
        r"vc[pkiar]_[A-Za-z0-9]{24}",
        Word,
    )
    .digit(),
    rule("netlify-token", &["nfp_"], r"nfp_[A-Za-z0-9]{36}", Word),
    rule("render-key", &["rnd_"], r"rnd_[A-Za-z0-9]{28}", Word).digit(),
    rule(
        "planetscale-token",
        &["pscale_"],
        r"pscale_(?:tkn|pw|oauth)_[\w.-]{32}",
        Dots,
    ),
    rule("neon-key", &["napi_"], r"napi_[a-z0-9]{48}", Word),
    rule("supabase-token", &["sbp_"], r"sbp_(?:oauth_|v0_)?[a-f0-9]{40}", Word),
    rule("supabase-secret-key", &["sb_secret_"], r"sb_secret_[\w-]{20}", Dash),
    rule("databricks-token", &["dapi"], r"dapi[a-f0-9]{32}(?:-[0-9])?", Exact),
    rule("openshift-token", &["sha256~"], r"sha256~[\w-]{43}", Dash),
    rule("pulumi-token", &["pul-"], r"pul-[a-f0-9]{40}", Exact),
    rule(
        "terraform-token",
        &[".atlasv1."],
        r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60}",
        Dash,
    )
    .back(Back::Bytes(14)),
    // Code and packages.
    rule(
        "github-token",
        &["ghp_", "gho_", "ghu_", "ghr_"],
        r"gh[pour]_[A-Za-z0-9]{36}",
        Word,
    ),
    rule("github-app-token", &["ghs_"], r"ghs_[A-Za-z0-9_]{36}", Dots),
    rule("github-pat", &["github_pat_"], r"github_pat_\w{60}", Word),
    rule(
        "gitlab-token",
        &[
            "glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "gloas-", "glsoat-", "glimt-", "glagent-", "glft-",
            "glffct-",
        ],
        r"gl(?:pat|dt|rt|ptt|cbt|oas|soat|imt|agent|ft|ffct)-[\w-]{20}",
        Dots,
    ),
    rule("gitlab-runner-token", &["GR1348941"], r"GR1348941[\w-]{20}", Dash),
    rule(
        "bitbucket-password",
        &["ATBB"],
        r"ATBB[A-Za-z0-9]{28}[A-F0-9]{4}",
        Exact,
    ),
    rule(
        "atlassian-token",
        &["ATATT3", "ATCTT3"],
        r"AT[AC]TT3[A-Za-z0-9_=-]{100}",
        Base64,
    ),
    rule("npm-token", &["npm_"], r"npm_[A-Za-z0-9]{36}", Word),
    rule(
        "npmrc-auth",
        &["_authToken="],
        r#"_authToken=["']?([A-Za-z0-9_.+/=-]{12})"#,
        Base64,
    ),
    rule("pypi-token", &["pypi-AgE"], r"pypi-AgE[\w-]{50}", Dash),
    rule("crates-token", &["cio"], r"cio[A-Za-z0-9]{32}", Exact).digit(),
    rule("rubygems-key", &["rubygems_"], r"rubygems_[a-f0-9]{48}", Word),
    rule("clojars-token", &["CLOJARS_"], r"CLOJARS_[a-z0-9]{60}", Word),
    rule(
        "docker-token",
        &["dckr_pat_", "dckr_oat_"],
        r"dckr_[po]at_[\w-]{20}",
        Dash,
    ),
    rule("artifactory-key", &["AKCp"], r"AKCp[A-Za-z0-9]{69}", Exact),
    rule("sonar-token", &["sqp_", "squ_", "sqa_"], r"sq[pua]_[a-f0-9]{40}", Word),
    rule(
        "sourcegraph-token",
        &["sgp_"],
        r"sgp_(?:[a-fA-F0-9]{16}_|local_)?[a-fA-F0-9]{40}",
        Word,
    ),
    rule("buildkite-token", &["bkua_"], r"bkua_[a-z0-9]{40}", Word),
    rule(
        "circleci-token",
        &["CCIPAT_"],
        r"CCIPAT_[A-Za-z0-9]{22}_[a-f0-9]{40}",
        Word,
    ),
    // Models.
    rule(
        "anthropic-key",
        &["sk-ant-"],
        r"sk-ant-(?:api|admin|oat|sid|ort)[0-9]{2}-[\w-]{40}",
        Dash,
    ),
    rule("openrouter-key", &["sk-or-v1-"], r"sk-or-v1-[0-9a-f]{40}", Word),
    rule(
        "openai-key",
        &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-service-"],
        r"sk-(?:proj|svcacct|admin|service)-[\w-]{40}",
        Dash,
    ),
    rule(
        "langfuse-key",
        &["sk-lf-"],
        r"sk-lf-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}",
        Exact,
    ),
    // The old keys of OpenAI, and of many vendors that copied their form.
    rule("sk-key", &["sk-"], r"sk-[A-Za-z0-9]{32}", Word).digit(),
    rule("moonshot-key", &["sk-kimi-"], r"sk-kimi-[A-Za-z0-9]{32}", Word),
    rule("xai-key", &["xai-"], r"xai-[\w-]{70}", Dash),
    rule("groq-key", &["gsk_"], r"gsk_[A-Za-z0-9]{48}", Word),
    rule("cerebras-key", &["csk-"], r"csk-[a-z0-9]{44}", Word),
    rule("perplexity-key", &["pplx-"], r"pplx-[A-Za-z0-9]{40}", Word),
    rule("replicate-token", &["r8_"], r"r8_[A-Za-z0-9]{37}", Exact),
    rule("huggingface-token", &["hf_"], r"hf_[A-Za-z0-9]{34}", Word),
    rule("huggingface-org-token", &["api_org_"], r"api_org_[A-Za-z0-9]{34}", Word),
    rule("nvidia-key", &["nvapi-"], r"nvapi-[\w-]{60}", Dash),
    rule("fireworks-key", &["fw_"], r"fw_[A-Za-z0-9]{24}", Word).digit(),
    rule(
        "langsmith-key",
        &["lsv2_pt_", "lsv2_sk_"],
        r"lsv2_(?:pt|sk)_[0-9a-f]{32}",
        Word,
    ),
    rule("pinecone-key", &["pcsk_"], r"pcsk_[A-Za-z0-9_]{40}", Word),
    rule("cursor-key", &["key_"], r"key_[0-9a-f]{64}", Exact).near("cursor"),
    rule("e2b-key", &["e2b_"], r"e2b_[0-9a-f]{40}", Word),
    rule("tavily-key", &["tvly-"], r"tvly-[\w-]{30}", Dash),
    rule("firecrawl-key", &["fc-"], r"fc-[0-9a-f]{32}", Exact),
    rule("jina-key", &["jina_"], r"jina_[0-9a-f]{32}[A-Za-z0-9_-]{20}", Dash),
    rule("elevenlabs-key", &["sk_"], r"sk_[0-9a-f]{48}", Exact),
    rule("context7-key", &["ctx7sk"], r"ctx7sk-[a-f0-9]{8}-[a-f0-9-]{27}", Exact),
    // Chat and mail.
    rule(
        "slack-token",
        &["xox"],
        r"xox[abceoprsd](?:\.xox[bp])?-[A-Za-z0-9-]{10}",
        Dash,
    ),
    rule("slack-app-token", &["xapp-"], r"xapp-[0-9]-[A-Za-z0-9-]{10}", Dash),
    rule(
        "slack-webhook",
        &["hooks.slack.com/"],
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/]{20})",
        Base64,
    ),
    rule(
        "discord-webhook",
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        r"discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/([\w-]{60})",
        Dash,
    ),
    // A number in base64, a time, a signature.
    rule(
        "discord-token",
        &[
            "MTA", "MTE", "MTI", "MTM", "MTQ", "MTU", "MTY", "MTc", "MTg", "MTk", "MjA", "MjE", "MjI", "MjM", "MjQ",
            "MjU", "MjY", "Mjc", "Mjg", "Mjk", "MzA", "MzE", "MzI", "MzM", "MzQ", "MzU", "MzY", "Mzc", "Mzg", "Mzk",
            "NDA", "NDE", "NDI", "NDM", "NDQ", "NDU", "NDY", "NDc", "NDg", "NDk", "NTA", "NTE", "NTI", "NTM", "NTQ",
            "NTU", "NTY", "NTc", "NTg", "NTk", "NjA", "NjE", "NjI", "NjM", "NjQ", "NjU", "NjY", "Njc", "Njg", "Njk",
            "NzA", "NzE", "NzI", "NzM", "NzQ", "NzU", "NzY", "Nzc", "Nzg", "Nzk", "ODA", "ODE", "ODI", "ODM", "ODQ",
            "ODU", "ODY", "ODc", "ODg", "ODk", "OTA", "OTE", "OTI", "OTM", "OTQ", "OTU", "OTY", "OTc", "OTg", "OTk",
        ],
        r"(?:[MNO][DTjz][AEIMQUYcgk][wxyz0-5]){5,6}[A-Za-z0-9]{0,3}\.[\w-]{6}\.[\w-]{27}",
        Dash,
    ),
    rule("telegram-token", &[":AA"], r"[0-9]{8,10}:AA[\w-]{33}", Dash).back(Back::Digits),
    rule("sendgrid-key", &["SG."], r"SG\.[\w-]{16,24}\.[\w-]{39}", Dash),
    rule("mailgun-key", &["key-"], r"key-[0-9a-f]{32}", Exact),
    rule(
        "brevo-key",
        &["xkeysib-"],
        r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}",
        Word,
    ),
    rule("resend-key", &["re_"], r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}", Word).digit(),
    rule(
        "twilio-key",
        &["twilio", "Twilio", "TWILIO"],
        r"(?s:(?i:twilio).{0,120}?[^A-Za-z0-9])(SK[0-9a-f]{32})",
        Exact,
    ),
    // Business applications.
    rule(
        "linear-key",
        &["lin_api_", "lin_oauth_"],
        r"lin_(?:api|oauth)_[A-Za-z0-9]{32}",
        Word,
    ),
    rule("notion-token", &["ntn_"], r"ntn_[A-Za-z0-9]{40}", Word),
    rule("notion-secret", &["secret_"], r"secret_[A-Za-z0-9]{43}", Exact).digit(),
    rule(
        "figma-token",
        &["figd_", "figu_", "figo_", "figr_"],
        r"fig[duor]_[\w-]{35}",
        Dash,
    ),
    rule(
        "postman-key",
        &["PMAK-"],
        r"PMAK-[a-fA-F0-9]{24}-[a-fA-F0-9]{34}",
        Exact,
    ),
    rule(
        "hubspot-token",
        &["pat-na", "pat-eu"],
        r"pat-(?:na|eu)[0-9]-[a-f0-9]{8}-[a-f0-9-]{27}",
        Exact,
    ),
    rule(
        "shopify-token",
        &["shpat_", "shpca_", "shppa_", "shpss_"],
        r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
        Word,
    ),
    rule("posthog-key", &["phx_"], r"phx_[A-Za-z0-9]{40}", Word),
    // Payments.
    rule(
        "stripe-key",
        &["sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"],
        r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{16}",
        Word,
    ),
    rule("webhook-secret", &["whsec_"], r"whsec_[A-Za-z0-9+/=]{24}", Base64),
    rule(
        "square-token",
        &["sq0atp-", "sq0csp-"],
        r"sq0(?:atp|csp)-[\w-]{22}",
        Dash,
    ),
    // Monitoring.
    rule(
        "sentry-token",
        &["sntry", "sntru"],
        r"sntr[yu][su]?_[A-Za-z0-9+/=_]{40}",
        Base64,
    ),
    rule("grafana-token", &["glc_"], r"glc_[A-Za-z0-9+/]{32}", Base64),
    rule("grafana-service-token", &["glsa_"], r"glsa_[A-Za-z0-9]{32}", Word),
    rule("newrelic-key", &["NRAK-"], r"NRAK-[A-Z0-9]{27}", Exact),
    rule(
        "dynatrace-token",
        &["dt0c01.", "dt0s16."],
        r"dt0[cs](?:01|16)\.[A-Z0-9]{24}\.[A-Z0-9]{64}",
        Exact,
    ),
    // Vaults and networks.
    rule("vault-token", &["hvs.", "hvb."], r"hv[sb]\.[\w-]{20}", Dash),
    rule(
        "doppler-token",
        &["dp."],
        r"dp\.(?:pt|st|sa|ct|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40}",
        Word,
    ),
    rule("onepassword-token", &["ops_eyJ"], r"ops_eyJ[A-Za-z0-9+/]{100}", Base64),
    rule(
        "onepassword-key",
        &["A3-"],
        r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}",
        Exact,
    ),
    // A private key, with the whole block encoded in base64 again.
    rule(
        "base64-private-key",
        &["LS0tLS1CRUdJTi"],
        concat!(
            r"LS0tLS1CRUdJTi(?:BQUklWQVRFIEtF|BSU0EgUFJJVkFURSBL|BFQyBQUklWQVRFIEtF|BEU0EgUFJJVkFURSBL",
            r"|BPUEVOU1NIIFBSSVZBVEUg|BFTkNSWVBURUQgUFJJVkFURSBL)[A-Za-z0-9+/]{40}"
        ),
        Base64,
    ),
    rule("age-key", &["AGE-SECRET-KEY-1"], r"AGE-SECRET-KEY-1[A-Z0-9]{50}", Word),
    rule("tailscale-key", &["tskey-"], r"tskey-[a-z]{2,12}-[\w-]{10}", Dash),
];
