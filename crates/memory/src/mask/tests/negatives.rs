//! Texts that look like secrets but are not. Every line of this table occurred in this form in logs or in source code.

use super::*;
use serde_json::json;

const HARMLESS: &[&str] = &[
    // Hashes, ids, checksums.
    "commit 9b74c9897bac770ffc029102a200c5de1a2b3c4d",
    "HEAD is now at 9b74c98 fix the login",
    r#""token": "9b74c9897bac770ffc029102a200c5de1a2b3c4d""#,
    "3f1c9a52-7be1-4a7e-9d55-0c2f6e1b8a43",
    r#""sessionToken": "3f1c9a52-7be1-4a7e-9d55-0c2f6e1b8a43""#,
    r#""id":"msg_01XFDUDYJgAACzvnptvVoYEL""#,
    r#""tool_use_id":"toolu_01A09q90qw90lq917835lq9""#,
    r#""token":"toolu_01A09q90qw90lq917835lq9""#,
    r#""requestId":"req_011CSHoEeqs5C35K2UUqR7Fy""#,
    r#""call_id":"call_8f3Kq0ZbT1nYw2Lx9Vd7Rc5P""#,
    "chatcmpl-9xYz1AbC2dEf3GhI4jKl5MnO6pQr",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    r#""integrity": "sha512-qaN1fw0Tt9sFqLZoQ2mJr5bVx8cKyHd3gPuW7eRi4oMnA6sBzXvCjLlTkYhGfDdSsAaPpOoIiUuYyTtRrEeWwQ==""#,
    "checksum = \"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"",
    "github.com/spf13/cobra v1.10.2/go.mod h1:7C1pvHqHw5A4vrJfjNwvOdzYu0Gml16OCs2GRiTUUS4=",
    "etag: W/\"5f2b-1890abcdef12\"",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJb8Q2mZbWp4Lr8TvNk3Jf9xQ2mZbWp4Lr8TvNk3 me@host",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAu1SU1LfVLPHCozMxH2Mo\n-----END PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n-----END CERTIFICATE-----",
    // Counts of tokens.
    r#""usage":{"input_tokens":1234567890123456,"cache_read_input_tokens":0,"output_tokens":88}"#,
    "max_tokens=4096",
    "token_count: 1234567890123456",
    "Tokens: 12,345,678 in, 1,234,567 out",
    r#""token_type":"bearer1234567890abcd""#,
    r#""nextPageToken":"CAUQAAq1B2c3D4e5F6g7H8""#,
    // Placeholders.
    "API_KEY=your-api-key-here-12345",
    "API_KEY=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "API_KEY=<your key, 32 characters>",
    "api_key: \"REPLACE_ME_WITH_A_KEY_1\"",
    "export TOKEN=changeme1234567890",
    "password: example-password-1",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "sk-ant-api03-...",
    "sk-...",
    "AKIAIOSFODNN7EXAMPLE",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "Authorization: Bearer <token>",
    "Authorization: Bearer YOUR_ACCESS_TOKEN",
    "Authorization: Bearer test-token-1",
    "Authorization: Basic authentication is supported",
    "postgres://user:password@localhost:5432/db",
    "postgres://postgres:postgres@localhost/postgres",
    "mysql://root:root@127.0.0.1",
    "https://user:pass@example.com",
    "password=********",
    "secret: 0123456789abcdefghij",
    // References.
    "API_KEY=$OPENAI_API_KEY_2",
    "API_KEY=\"${OPENAI_API_KEY_2}\"",
    "token: ${{ secrets.GITHUB_TOKEN_2 }}",
    "const apiKey = process.env.OPENAI_API_KEY_2;",
    "api_key = os.environ[\"OPENAI_API_KEY_2\"]",
    "password: !vault secret/data/app1#password",
    "curl -u \"$USER:$PASS\" https://h",
    "curl -H \"Authorization: Bearer $(cat token.txt)\" https://h",
    "https://${USER}:${TOKEN}@github.com/a/b.git",
    "tool --token \"$TOKEN\" --password-stdin",
    "tool --password-file /run/secrets/db1",
    "tool --max-tokens 4096",
    "docker login --password-stdin",
    // Source code.
    "const token = generateAccessTokenForUser2(user);",
    "let secret = Secret::from_env_or_default2();",
    "password = bcrypt.hash(password, 10)",
    "token: string | undefined",
    "private readonly tokenService2: TokenService2;",
    "if token == authenticationServiceTokenV2 {",
    "private_key: ed25519.Ed25519PrivateKey",
    "secretName: my-app-tls-certificate-2026",
    "const D3_ESCAPE_PASS: D3KMT_DEFRAG_ESCAPE_OPERATION = 1;",
    "#define TOKEN_TYPE_IDENTIFIER_WITH_SUFFIX_16 0x10",
    "key_press_handler_for_arrow_keys_1234",
    "npm_config_registry_url_for_the_project_1",
    "x.sk-circle12{transform:rotate(330deg)}",
    "re_compile_pattern_fastmap_internal_2",
    "task-1234567890abcdef1234567890abcdef",
    "disk-0a1b2c3d4e5f60718293a4b5c6d7e8f9",
    "strings.HasPrefix(line, \"-----BEGIN RSA PRIVATE KEY-----\")",
    "A key starts with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----.",
    "!function(e,t){\"object\"==typeof exports?module.exports=t(e.token1):e.x=t}(this,function(){return 1});",
    "secret-scanner-action-v2.1.0-linux-amd64.tar.gz",
    // Names that contain `pass`, `auth` or `key`, and the output of test runners.
    "--- PASS: TestLogin/with_2FA_Enabled (0.00s)",
    "PASS: login_with_2FA_Enabled",
    "pass: 12, fail: 0, skipped: 3",
    "✓ pass: 3 of 12 in Step1-Check2",
    "bypass: Feature-Flag42x",
    "compass = North-East45x",
    "renderPass: ShadowMap-4096x2",
    "pass_rate: 0.98",
    "passes: Checks-1-2-3",
    "\"auth\": \"required\"",
    "auth: { type: 'oauth2', scopes: ['a1'] }",
    "author: Ada1 <ada@example.com>",
    "access key: F10, then Alt+Shift",
    "key-data: see chapter 12",
    "GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}",
    "GITHUB_TOKEN=$(gh auth token)",
    "api_key_id: 3f1c9a52-7be1-4a7e-9d55-0c2f6e1b8a43",
    "API_KEY=00000000-0000-0000-0000-000000000000",
    "API_KEY=12345678-1234-1234-1234-123456789012",
    "sync_token: 9b74c9897bac770ffc029102a200c5de1a2b3c4d",
    // Commands.
    "docker run --name mysql -p3306:3306 mysql:8",
    "docker run -p 3306:3306 -e MYSQL_DATABASE=app mysql:8 --port 3306",
    "mysql -u root -p app_production2 < dump.sql",
    "mysql -h h -u root -p\"$MYSQL_PWD\" app",
    "mysqladmin -p ping",
    "mkdir -p mysql/data1",
    "sshpass -p \"$SSHPASS\" ssh ada@h",
    "redis-cli -a \"$REDIS_AUTH\" ping",
    "mongod -p 27017",
    "ports: [\"127.0.0.1:5432:5432\"]",
    "src/main.rs:5432:9: error[E0425]: cannot find value `x1`",
    "localhost:5432:app:ada:password",
    "the machine's login and password fields",
    "login form password Input2",
    "https%3A%2F%2Fexample.com%2Fa%3Fb%3Dc1%40d",
    // Tokens that end at the end of their line.
    "token sk-\nabcdefghijklmnopqrstuvwxyz0123456789",
    "a line that ends with ghp_short1\nand another one that goes on with words",
    // Paths, links, versions.
    "TOKEN_PATH=/home/me/.config/app/token-v2.json",
    "credentials: ~/.aws/credentials-2026",
    "secret_url=https://vault.local/v1/secret/data/app2",
    "git@github.com:owner/repo.git",
    "ssh://git@github.com/owner/repo2.git",
    "https://www.npmjs.com/package/@scope/name/v/1.2.3",
    "https://example.com/path?a=1&b=2#c:d@e",
    "image: registry.local/app@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "/home/me/sk-project/xoxo/ghp/AIza/readme.md",
    "token expires 2026-11-15T20:35:00.000Z",
    "Set-Cookie: theme=dark; Path=/; HttpOnly",
    "the cookie: it stores a preference=compact",
    "eyJhbGciOiJIUzI1NiJ9 is how a web token begins",
    "[104,101,108,108,111,32,119,111,114,108,100]",
    "\u{1b}[32mok\u{1b}[0m 12 passed, tokens: 1234567890",
];

#[test]
fn what_only_looks_like_a_secret_stays() {
    assert!(HARMLESS.len() >= 60);
    let masker = masker();
    for text in HARMLESS {
        let mut hits = Vec::new();
        masker.mask_str(text, &mut hits);
        assert!(hits.is_empty(), "{text}: {hits:?}");
        let lines = [
            json!({ "text": text }),
            json!({ "arguments": json!({ "command": text }).to_string() }),
            json!({ "output": text.as_bytes() }),
            json!({ (*text): 1 }),
        ];
        for line in lines {
            masker.mask_json_line(line.to_string().as_bytes(), &mut hits);
            assert!(hits.is_empty(), "{line}: {hits:?}");
        }
        for line in text.lines() {
            masker.mask_text_line(&mut TextState::default(), line.as_bytes(), &mut hits);
        }
        assert!(hits.is_empty(), "{text} by lines: {hits:?}");
    }
}

#[test]
fn a_line_without_secrets_is_borrowed() {
    let line = br#"{"type":"user","message":{"content":"fix the login"},"usage":{"input_tokens":12}}"#;
    assert!(matches!(
        masker().mask_json_line(line, &mut Vec::new()),
        Cow::Borrowed(_)
    ));
    assert!(matches!(
        masker().mask_str("fix the login", &mut Vec::new()),
        Cow::Borrowed(_)
    ));
}
