//! Characters that are one to a reader: katakana and hiragana, old kanji and new, letters of full and half width.

use std::sync::LazyLock;

/// The character that stands for all that are matched with one.
#[inline]
pub(crate) fn fold(c: char) -> char {
    match c {
        // half of a text, which stand for themselves
        'ぁ'..='わ' | 'を' | 'ん' => c,
        _ => fold_other(c),
    }
}

fn fold_other(c: char) -> char {
    match c {
        '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' => OLD.new_form(c).unwrap_or(c),
        _ => fold_but_kanji(c),
    }
}

/// The same, but a kanji is left as it is.
#[inline]
fn fold_but_kanji(c: char) -> char {
    match c {
        'ゐ' | 'ヰ' => 'い',
        'ゑ' | 'ヱ' => 'え',
        '\u{4e00}'..='\u{9fff}' | 'a'..='z' | '0'..='9' | 'ぁ'..='ゖ' => c,
        'A'..='Z' => c.to_ascii_lowercase(),
        'ァ'..='ヶ' | 'ヽ' | 'ヾ' => shifted(c, -0x60),
        // なが～い
        '～' | '〜' => 'ー',
        '！'..='～' => shifted(c, -0xFEE0).to_ascii_lowercase(),
        '｡'..='ﾟ' => HALF_WIDTH.chars().nth(c as usize - '｡' as usize).unwrap_or(c),
        '〻' => '々',
        _ => c,
    }
}

fn shifted(c: char, by: i32) -> char {
    char::from_u32((c as u32).wrapping_add_signed(by)).unwrap_or(c)
}

/// What stands behind U+FF61 in a row, folded.
const HALF_WIDTH: &str = "。「」、・をぁぃぅぇぉゃゅょっーあいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわん゛゜";

/// Appends the key that a text is looked for by.
pub(crate) fn folded(text: &str, out: &mut String) {
    for c in text.chars() {
        let last = out.chars().next_back();
        match last.and_then(|last| voiced(last, c)) {
            Some(voiced) => {
                out.pop();
                out.push(voiced);
            }
            None => out.push(fold(c)),
        }
    }
}

/// A folded kana with the mark that follows it in half width, or as a character that combines.
#[inline]
pub(crate) fn voiced(kana: char, mark: char) -> Option<char> {
    match mark {
        'ﾞ' | '゛' | '\u{3099}' => with_mark(kana, 1),
        'ﾟ' | '゜' | '\u{309a}' => with_mark(kana, 2),
        _ => None,
    }
}

/// A kana that stands so far behind another one, if that takes the mark.
#[cold]
fn with_mark(kana: char, by: i32) -> Option<char> {
    let takes = match kana {
        'う' if by == 1 => return Some('ゔ'),
        'か' | 'き' | 'く' | 'け' | 'こ' | 'さ' | 'し' | 'す' | 'せ' | 'そ' | 'た' | 'ち' | 'つ' | 'て' | 'と' => {
            by == 1
        }
        // ゞ, taken apart as some systems take what they are given
        'ゝ' => by == 1,
        'は' | 'ひ' | 'ふ' | 'へ' | 'ほ' => true,
        _ => false,
    };
    takes.then(|| shifted(kana, by))
}

/// The vowel on which a folded kana ends.
#[inline]
pub(crate) fn vowel(kana: char) -> Option<char> {
    /// Of the hiragana in their order: those of あ, か, さ, た, な, は, ま, や, ら and わ, then ん, ゔ, ゕ and ゖ.
    const VOWELS: &[u8; 86] = b"aaiiuueeooaaiiuueeooaaiiuueeooaaiiuuueeooaiueoaaaiiiuuueeeoooaiueoaauuooaiueoaaieo-uae";
    match VOWELS.get((kana as usize).wrapping_sub('ぁ' as usize))? {
        b'a' => Some('あ'),
        b'i' => Some('い'),
        b'u' => Some('う'),
        b'e' => Some('え'),
        b'o' => Some('お'),
        _ => None,
    }
}

/// Whether a vowel of a folded text makes the kana before it long, as ー does: おかあさん, せんせい, とうきょう.
pub(crate) fn is_long(before: char, vowel_kana: char) -> bool {
    match vowel_kana {
        'い' => matches!(vowel(before), Some('い' | 'え')),
        'う' => matches!(vowel(before), Some('う' | 'お')),
        'あ' | 'え' | 'お' => vowel(before) == Some(vowel_kana),
        _ => false,
    }
}

/// In which kana a text is, of what its characters are: 0 where one is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Script(u8);

impl Script {
    const HIRAGANA: u8 = 1;
    const KATAKANA: u8 = 2;
    const OTHER: u8 = 4;

    pub(crate) fn of(c: char) -> Script {
        Script(match c {
            'ー' | 'ｰ' | '・' | '\u{3099}' | '\u{309a}' => 0,
            'ゝ' | 'ゞ' => Script::HIRAGANA,
            'ヽ' | 'ヾ' => Script::KATAKANA,
            _ if is_hiragana(c) => Script::HIRAGANA,
            _ if is_katakana(c) => Script::KATAKANA,
            _ => Script::OTHER,
        })
    }

    #[inline]
    pub(crate) fn with(self, other: Script) -> Script {
        Script(self.0 | other.0)
    }

    /// Hiragana, katakana or both; 0 where something else is among them.
    #[inline]
    pub(crate) fn kana(self) -> u32 {
        if self.0 & Script::OTHER != 0 { 0 } else { self.0.into() }
    }

    #[inline]
    pub(crate) fn has_katakana(self) -> bool {
        self.0 & Script::KATAKANA != 0
    }
}

#[inline]
pub(crate) fn is_hiragana(c: char) -> bool {
    matches!(c, 'ぁ'..='ゖ')
}

pub(crate) fn is_katakana(c: char) -> bool {
    matches!(c, 'ァ'..='ヺ' | 'ｦ'..='ﾟ')
}

pub(crate) fn is_kanji(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}' | '々' | '〇' | '〆')
}

/// Old and other forms of kanji.
struct Old {
    /// Each beside the one that stands in dictionaries of today, in order.
    pairs: Vec<(char, char)>,
    /// A bit for each place of the Basic Multilingual Plane where one stands: most kanji are none of them.
    places: Box<[u64; 1 << 10]>,
}

impl Old {
    #[inline]
    fn new_form(&self, c: char) -> Option<char> {
        if self.places.get(c as usize / 64)? & 1 << (c as u32 % 64) == 0 {
            return None;
        }
        let at = self.pairs.binary_search_by_key(&c, |pair| pair.0).ok()?;
        Some(self.pairs[at].1)
    }
}

static OLD: LazyLock<Old> = LazyLock::new(|| {
    let all: Vec<char> = PAIRS.chars().collect();
    let mut pairs: Vec<_> = all.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    pairs.sort_unstable();
    let mut places = Box::new([0; 1 << 10]);
    for (old, _) in &pairs {
        places[*old as usize / 64] |= 1 << (*old as u32 % 64);
    }
    Old { pairs, places }
});

const PAIRS: &str = "亞亜惡悪壓圧圍囲爲為醫医壹壱稻稲飮飲隱隠營営榮栄衞衛驛駅悅悦閱閲圓円緣縁艷艶鹽塩奧奥應応橫横歐欧毆殴黃黄溫温穩穏假仮價価畫画會会壞壊懷懐繪絵擴拡殼殻覺覚學学嶽岳樂楽勸勧卷巻寬寛歡歓罐缶觀観關関陷陥巖巌顏顔歸帰氣気龜亀僞偽戲戯犧犠舊旧據拠擧挙峽峡挾挟狹狭鄕郷曉暁區区驅駆勳勲薰薫徑径惠恵溪渓經経繼継莖茎螢蛍輕軽鷄鶏藝芸缺欠儉倹劍剣圈圏檢検權権獻献縣県險険顯顕驗験嚴厳效効廣広恆恒鑛鉱號号國国黑黒濟済碎砕齋斎劑剤雜雑參参慘惨棧桟蠶蚕贊賛殘残絲糸齒歯兒児辭辞濕湿實実舍舎寫写釋釈壽寿收収從従澁渋獸獣縱縦肅粛處処敍叙奬奨將将燒焼稱称證証乘乗剩剰壤壌孃嬢條条淨浄疊畳穰穣讓譲釀醸囑嘱觸触寢寝愼慎眞真晉晋盡尽圖図粹粋醉酔隨随髓髄樞枢數数瀨瀬聲声靜静齊斉攝摂竊窃專専戰戦淺浅潛潜纖繊踐践錢銭禪禅曾曽雙双壯壮搜捜插挿爭争總総聰聡莊荘裝装騷騒增増臟臓藏蔵屬属續続墮堕體体對対帶帯滯滞臺台瀧滝擇択澤沢單単擔担膽胆團団彈弾斷断癡痴遲遅晝昼蟲虫鑄鋳廳庁聽聴敕勅鎭鎮遞逓鐵鉄轉転點点傳伝黨党盜盗燈灯當当鬭闘德徳獨独讀読屆届繩縄貳弐惱悩腦脳霸覇廢廃拜拝賣売麥麦發発髮髪拔抜蠻蛮祕秘濱浜甁瓶拂払佛仏竝並變変邊辺辨弁辯弁瓣弁舖舗寶宝襃褒豐豊沒没每毎萬万滿満默黙餠餅彌弥藥薬譯訳豫予餘余與与譽誉搖揺樣様謠謡來来賴頼亂乱覽覧龍竜兩両獵猟綠緑鄰隣淚涙壘塁勵励禮礼隸隷靈霊齡齢曆暦歷歴戀恋鍊錬爐炉勞労樓楼祿禄錄録亙亘灣湾堯尭巢巣槇槙遙遥瑤瑶髙高﨑崎嶋島嶌島濵浜邉辺冨富埜野舘館栁柳桒桑籔薮吞呑塡填頰頬剝剥嚙噛摑掴瘦痩繫繋蟬蝉醬醤鷗鴎麴麹蠟蝋逹達";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_character_has_one_that_stands_for_it() {
        let folded = |text: &str| text.chars().map(fold).collect::<String>();
        assert_eq!(folded("カタカナ ヴェーヾ ＡＢｃ１２"), "かたかな ゔぇーゞ abc12");
        assert_eq!(folded("ｶﾀｶﾅ｡"), "かたかな。");
        assert_eq!(folded("ゐる ヱビス"), "いる えびす");
        assert_eq!(folded("國語學 髙﨑 龍 吞逹"), "国語学 高崎 竜 呑達");
        // what stands for others stands for itself, or a key would be folded to what no text is folded to
        for c in '\0'..=char::MAX {
            assert_eq!(fold(fold(c)), fold(c), "{c}");
        }
    }

    #[test]
    fn each_kana_has_its_vowel() {
        for (row, of) in [
            ("ぁあかがさざただなはばぱまゃやらゎわゕ", 'あ'),
            ("ぃいきぎしじちぢにひびぴみりゐ", 'い'),
            ("ぅうくぐすずっつづぬふぶぷむゅゆるゔ", 'う'),
            ("ぇえけげせぜてでねへべぺめれゑゖ", 'え'),
            ("ぉおこごそぞとどのほぼぽもょよろを", 'お'),
        ] {
            row.chars().for_each(|kana| assert_eq!(vowel(kana), Some(of), "{kana}"));
        }
        "んーゝア山a".chars().for_each(|none| assert_eq!(vowel(none), None, "{none}"));
    }

    #[test]
    fn vowels_are_made_long() {
        for (before, kana) in
            [('か', 'あ'), ('に', 'い'), ('せ', 'い'), ('く', 'う'), ('と', 'う'), ('お', 'お'), ('ね', 'え')]
        {
            assert!(is_long(before, kana), "{before}{kana}");
        }
        for (before, kana) in [('か', 'い'), ('か', 'う'), ('に', 'え'), ('ん', 'い'), ('山', 'う')] {
            assert!(!is_long(before, kana), "{before}{kana}");
        }
        assert_eq!(voiced('か', 'ﾞ'), Some('が'));
        assert_eq!(voiced('は', 'ﾟ'), Some('ぱ'));
        assert_eq!(voiced('ゝ', '\u{3099}'), Some('ゞ'));
        assert_eq!(voiced('ゝ', '\u{309a}'), None);
        assert_eq!(voiced('な', 'ﾞ'), None);
    }
}
