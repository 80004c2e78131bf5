//! Generates prose and names with a realistic word distribution: few words often, many rarely (Zipf), with repeated phrases. Some
//! prose is Chinese.

use super::text;
use crate::truth::SeededRandom;

/// Words, the most frequent first.
const WORDS: &str = "the to a and of in is it for that this we with be on not as are if from you can all by an but or at so \
    when which no now was will there has only one into then them out up do its just have should also here test file code \
    error run line value function call name type path field check set read write data return state key list new first \
    last same other each both more most before after without between because since while until where still already never \
    always must need add change fix make use keep move find show take give look see know think work start stop build \
    string number index length empty default option config result output input request response server client user \
    session token cache store record event log message text word page table row column query search filter sort order \
    group count sum total limit offset cursor range batch queue worker thread lock wait retry timeout cancel close open \
    create delete update insert remove replace rename copy merge split join parse format print render draw load save \
    import export module package crate library version release branch commit diff patch review issue request pull push \
    remote local origin main feature bug crash panic failure warning fault trace stack frame memory buffer byte bit size \
    width height depth level root parent child node tree graph edge leaf map hash vector array slice pointer reference \
    owner borrow lifetime trait struct enum match case loop iterator closure async await stream socket port host address \
    header body status method route handler middleware service database schema migration column transaction commit \
    rollback replica shard backup restore snapshot archive bundle asset image font color theme layout button form dialog \
    menu window view model controller template style script shell command argument flag environment variable secret \
    permission role account login password email profile invoice payment price currency order customer product cart \
    shipment warehouse stock report chart metric counter gauge histogram alert dashboard deploy container cluster region \
    network proxy gateway balance schedule timer clock calendar date month week day hour minute second zone locale \
    language translation encoding unicode ascii quote escape comma colon bracket brace indent newline whitespace comment \
    document heading paragraph link anchor footnote example tutorial guide changelog license author reviewer maintainer \
    simple plain small large fast slow safe broken missing unknown invalid valid optional required internal external \
    public private static dynamic mutable shared global unused deprecated experimental stable legacy current previous next";

/// Words of Chinese and Japanese sentences.
const WORDS_CJK: &str = "我们 这个 文件 测试 错误 修改 函数 返回 数据 需要 检查 运行 结果 现在 问题 代码 配置 请 帮我 看看 登录 用户 为什么 \
    没有 可以 应该 之后 然后 目录 缓存 服务器 请求 响应 更新 删除 添加 重构 提交 分支 版本 日志 时间 传入 参数 默认 值 这里 失败 通过 \
    この ファイル を 確認 して ください テスト が 失敗 する 関数 修正 エラー 設定 変更 実行 結果 ログ です ます から";

/// The number of function words at the start of the list. Names and compounds use only the words after them.
const SMALL: usize = 60;
const COMPOUNDS: usize = 420;
/// The size of the vocabulary with compounds.
const VOCABULARY: usize = 3_000;
const PHRASES: usize = 350;

/// The vocabulary, which is the same in every corpus.
pub(super) struct Vocabulary {
    words: Vec<String>,
    /// Indexes into `words`. A frequent word occurs many times.
    places: Vec<u16>,
    phrases: Vec<String>,
    cjk: Vec<&'static str>,
    /// Lines of code that are repeated, in equal numbers for each topic.
    pub(super) snippets: Vec<String>,
    /// The current topic, which limits names to a part of the vocabulary.
    pub(super) topic: usize,
}

/// The number of topics and the number of words per topic.
pub(super) const TOPICS: usize = 50;
const TOPIC_WORDS: usize = 40;
const TOPIC_SNIPPETS: usize = 40;

impl Vocabulary {
    pub(super) fn new() -> Vocabulary {
        let plain: Vec<&str> = WORDS.split_whitespace().collect();
        let mut words: Vec<String> = plain.iter().map(ToString::to_string).collect();
        let mut random = SeededRandom(0x0b05_ee11);
        while words.len() < VOCABULARY {
            // Logs of coding agents are full of identifiers. Function words do not occur in them.
            let (first, second) = (random.pick(&plain[SMALL..]), random.pick(&plain[SMALL..]));
            words.push(match random.between(0, 2) {
                0 => format!("{first}_{second}"),
                1 => format!("{}{}", capital(first), capital(second)),
                _ => format!("{first}{}", capital(second)),
            });
        }
        let mut places = Vec::new();
        for rank in 0..words.len() {
            let often = 1 + 1_000 / (rank + 3);
            places.extend(std::iter::repeat_n(u16::try_from(rank).expect("few words"), often));
        }
        let mut words = Vocabulary {
            words,
            places,
            phrases: Vec::new(),
            cjk: WORDS_CJK.split_whitespace().collect(),
            snippets: Vec::new(),
            topic: 0,
        };
        for _ in 0..PHRASES {
            let mut phrase = String::new();
            for _ in 0..random.between(3, 8) {
                phrase.push_str(words.word(&mut random));
                phrase.push(' ');
            }
            words.phrases.push(phrase);
        }
        for topic in 0..TOPICS {
            words.topic = topic;
            for _ in 0..TOPIC_SNIPPETS {
                let mut snippet = String::new();
                let known = words.name(&mut random).to_owned();
                text::new_statement(&words, &mut random, &known, &mut snippet);
                words.snippets.push(snippet);
            }
        }
        words
    }

    /// Picks a word by its frequency.
    pub(super) fn word(&self, random: &mut SeededRandom) -> &str {
        &self.words[usize::from(self.places[random.below(self.places.len())])]
    }

    /// Picks an identifier.
    pub(super) fn name(&self, random: &mut SeededRandom) -> &str {
        let bits = random.next_u64();
        // One random number is enough for the choice and both draws.
        let (from, span) = match bits & 15 {
            0 => (COMPOUNDS, VOCABULARY - COMPOUNDS),
            1..=4 => (COMPOUNDS + self.topic * TOPIC_WORDS, TOPIC_WORDS),
            _ => (SMALL + self.topic * 5, TOPIC_WORDS),
        };
        let (first, second) = ((bits >> 8) as u32, (bits >> 36) as u32 & 0xff_ffff);
        // The minimum of two random numbers prefers the first words of a topic.
        let at = (first & 0xff_ffff).min(second);
        &self.words[from + ((at as usize * span) >> 24)]
    }

    /// Picks a repeated line of code.
    pub(super) fn snippet(&self, random: &mut SeededRandom) -> &str {
        &self.snippets[self.topic * TOPIC_SNIPPETS + random.below(TOPIC_SNIPPETS)]
    }

    /// Returns about `length` bytes of prose.
    pub(super) fn prose(&self, random: &mut SeededRandom, length: usize) -> String {
        let mut out = String::with_capacity(length + 64);
        while out.len() < length {
            self.sentence(random, &mut out);
            out.push_str(match random.next_u64() & 7 {
                0 => "\n\n",
                1 => "\n- ",
                _ => " ",
            });
        }
        cut(&mut out, length);
        out
    }

    /// Appends a sentence.
    pub(super) fn sentence(&self, random: &mut SeededRandom, out: &mut String) {
        let start = out.len();
        for _ in 0..random.between(1, 5) {
            match random.next_u64() & 7 {
                0..=4 => out.push_str(&self.phrases[random.below(self.phrases.len())]),
                5 => {
                    out.push('`');
                    out.push_str(self.name(random));
                    out.push_str("` ");
                }
                _ => {
                    out.push_str(self.word(random));
                    out.push(' ');
                    out.push_str(self.word(random));
                    out.push(' ');
                }
            }
        }
        out.pop();
        out.push('.');
        if let Some(first) = out.get_mut(start..=start) {
            first.make_ascii_uppercase();
        }
    }

    /// Returns about `length` bytes of Chinese or Japanese.
    pub(super) fn prose_cjk(&self, random: &mut SeededRandom, length: usize) -> String {
        let mut out = String::with_capacity(length + 64);
        while out.len() < length {
            for _ in 0..random.between(3, 9) {
                out.push_str(random.pick(&self.cjk));
            }
            out.push_str(if random.flip() { "，" } else { "。" });
        }
        cut(&mut out, length);
        out
    }
}

/// Truncates a text at a character boundary.
pub(super) fn cut(text: &mut String, length: usize) {
    let mut end = length.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
}

/// Returns the word with its first letter capitalised.
pub(super) fn capital(word: &str) -> String {
    let mut word = word.to_owned();
    if let Some(first) = word.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    word
}
