//! Words as people and models use them: few often, many seldom (Zipf), whole phrases again and again. Some of it is
//! Chinese. Knows no JSON and no agent.

use super::text;
use crate::truth::Dice;

/// The words, the most frequent first.
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

/// The small words come first, the compounds last: where names and compounds begin.
const SMALL: usize = 60;
const COMPOUNDS: usize = 420;
/// How many words there are with the compounds.
const VOCABULARY: usize = 3_000;
const PHRASES: usize = 350;

/// A vocabulary, the same in every corpus.
pub(super) struct Words {
    words: Vec<String>,
    /// Places of words in `words`, as many as a word is frequent.
    places: Vec<u16>,
    phrases: Vec<String>,
    cjk: Vec<&'static str>,
    /// Lines of code that come again and again, so many for each topic.
    pub(super) snippets: Vec<String>,
    /// What is talked about now: names come from a part of the vocabulary.
    pub(super) topic: usize,
}

/// How many topics there are, and the words of one.
pub(super) const TOPICS: usize = 50;
const TOPIC_WORDS: usize = 40;
const TOPIC_SNIPPETS: usize = 40;

impl Words {
    pub(super) fn new() -> Words {
        let plain: Vec<&str> = WORDS.split_whitespace().collect();
        let mut words: Vec<String> = plain.iter().map(ToString::to_string).collect();
        let mut dice = Dice(0x0b05_ee11);
        while words.len() < VOCABULARY {
            // Identifiers are what logs of coding agents are full of; the small words do not take part.
            let (first, second) = (dice.pick(&plain[SMALL..]), dice.pick(&plain[SMALL..]));
            words.push(match dice.between(0, 2) {
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
        let mut words = Words {
            words,
            places,
            phrases: Vec::new(),
            cjk: WORDS_CJK.split_whitespace().collect(),
            snippets: Vec::new(),
            topic: 0,
        };
        for _ in 0..PHRASES {
            let mut phrase = String::new();
            for _ in 0..dice.between(3, 8) {
                phrase.push_str(words.word(&mut dice));
                phrase.push(' ');
            }
            words.phrases.push(phrase);
        }
        for topic in 0..TOPICS {
            words.topic = topic;
            for _ in 0..TOPIC_SNIPPETS {
                let mut snippet = String::new();
                let known = words.name(&mut dice).to_owned();
                text::new_statement(&words, &mut dice, &known, &mut snippet);
                words.snippets.push(snippet);
            }
        }
        words
    }

    /// A word, the frequent ones often.
    pub(super) fn word(&self, dice: &mut Dice) -> &str {
        &self.words[usize::from(self.places[dice.below(self.places.len())])]
    }

    /// A name for something in code.
    pub(super) fn name(&self, dice: &mut Dice) -> &str {
        let roll = dice.roll();
        let (from, span) = match roll & 15 {
            0 => (COMPOUNDS, VOCABULARY - COMPOUNDS),
            1..=4 => (COMPOUNDS + self.topic * TOPIC_WORDS, TOPIC_WORDS),
            _ => (SMALL + self.topic * 5, TOPIC_WORDS),
        };
        let (first, second) = ((roll >> 8) as u32, (roll >> 36) as u32 & 0xff_ffff);
        // The smaller of two rolls: the first words of a topic are its favourites.
        let at = (first & 0xff_ffff).min(second);
        &self.words[from + ((at as usize * span) >> 24)]
    }

    /// A line of code that was seen before.
    pub(super) fn snippet(&self, dice: &mut Dice) -> &str {
        &self.snippets[self.topic * TOPIC_SNIPPETS + dice.below(TOPIC_SNIPPETS)]
    }

    /// About `length` bytes of prose.
    pub(super) fn prose(&self, dice: &mut Dice, length: usize) -> String {
        let mut out = String::with_capacity(length + 64);
        while out.len() < length {
            self.sentence(dice, &mut out);
            out.push_str(match dice.roll() & 7 {
                0 => "\n\n",
                1 => "\n- ",
                _ => " ",
            });
        }
        cut(&mut out, length);
        out
    }

    /// A sentence, with its full stop.
    pub(super) fn sentence(&self, dice: &mut Dice, out: &mut String) {
        let start = out.len();
        for _ in 0..dice.between(1, 5) {
            match dice.roll() & 7 {
                0..=4 => out.push_str(&self.phrases[dice.below(self.phrases.len())]),
                5 => {
                    out.push('`');
                    out.push_str(self.name(dice));
                    out.push_str("` ");
                }
                _ => {
                    out.push_str(self.word(dice));
                    out.push(' ');
                    out.push_str(self.word(dice));
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

    /// About `length` bytes of Chinese or Japanese.
    pub(super) fn prose_cjk(&self, dice: &mut Dice, length: usize) -> String {
        let mut out = String::with_capacity(length + 64);
        while out.len() < length {
            for _ in 0..dice.between(3, 9) {
                out.push_str(dice.pick(&self.cjk));
            }
            out.push_str(if dice.coin() { "，" } else { "。" });
        }
        cut(&mut out, length);
        out
    }
}

/// Cuts a text to a length, at a character.
pub(super) fn cut(text: &mut String, length: usize) {
    let mut end = length.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
}

/// With a capital letter.
pub(super) fn capital(word: &str) -> String {
    let mut word = word.to_owned();
    if let Some(first) = word.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    word
}
