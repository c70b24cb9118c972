"""The sentences that models and tokenizers are compared on: many scripts, and what breaks tokenizers."""
import unicodedata

PLAIN = """\
The ferry leaves at seven, but the fog has other plans.
A kettle whistles somewhere in the house.
She repaired the clock with a hairpin and a lot of patience.
Nobody expected the smallest dog to win the race.
Rain is forecast for Thursday; bring a coat.
How do I reset the password of my router?
My router forgot its password, what now?
The court adjourned without reaching a verdict.
Judges postponed the decision until next month.
Fresh bread smells better than any perfume.
Interest rates rose by a quarter of a percentage point.
The central bank made borrowing slightly more expensive.
He plays the cello badly but with great conviction.
An orchestra without violas would still be an orchestra.
Mix flour, water, salt and time.
Photosynthesis turns light into sugar.
Plants make their food from sunlight.
The train to Utrecht was cancelled because of leaves on the track.
I can't, won't and shouldn't've said that.
It's the dog's bone; the dogs' bones are elsewhere.
“Quoted” — with dashes – and ‘curly’ quotes…
Mr. O'Neill-Smith (b. 1947) didn't reply to Dr. Müller's e-mail.
THE WHOLE SENTENCE IS SHOUTING AT YOU.
mIxEd CaSe iS hArD tO rEaD
one
a
I
Yes.
?
!!!
...
unbelievably antidisestablishmentarianism floccinaucinihilipilification
pneumonoultramicroscopicsilicovolcanoconiosis is one word
The quick brown fox jumps over the lazy dog, again and again and again.
Is a hot dog a sandwich? Discuss in at most two paragraphs.
Two roads met in a wood, and a signpost stood there, quite useless.
The museum is free on the first Sunday of each month.
Admission costs nothing on one Sunday a month.
Please return the book to the library by Friday.
Overdue loans cost ten cents a day.
Glaciers carve valleys slowly and without asking.
Vaccines train the immune system before the danger comes.
The immune system learns from harmless copies of a threat.
A red bicycle leaned against the bakery's wall.
There was a bike standing at the baker's.
The recipe calls for three eggs; we have one.
Our flight was delayed by six hours in Lisbon.
Never divide by zero, not even once.
The satellite lost contact shortly after launch.
Contact with the spacecraft broke off minutes into the flight.
""".splitlines()

LANGUAGES = """\
Der Fluss trägt heute viel Wasser, und die Fähre fährt nicht.
Übermäßig große Bäume wurden gefällt; Straße gesperrt.
Heizölrückstoßabdämpfung ist kein Scherz.
Le garçon a mangé une crêpe à la crème brûlée.
Où est-ce que l'été s'est caché, cœur naïf ?
L’œuvre complète d’Hélène tient sur une étagère.
El niño comió piñas en la montaña mañana por la mañana.
¿Dónde está la biblioteca? ¡Aquí!
A ação do coração não tem explicação.
São Paulo está a três horas daqui.
La città è più bella quando piove, perché è vuota.
Zażółć gęślą jaźń.
Łódź to nie łódka, a Źródło to nie żart.
Příliš žluťoučký kůň úpěl ďábelské ódy.
Árvíztűrő tükörfúrógép.
Pijamalı hasta yağız şoföre çabucak güvendi.
İstanbul'da ILIK bir sabah, ısı 20 derece.
Sæmundur fróði ók í gegnum þokuna á Íslandi.
Øl og smørrebrød på Ærø.
Hyvää päivää, mitä kuuluu? Kiitos, hyvää!
Rīgā šodien līst, bet Jūrmalā spīd saule.
Đường phố Hà Nội rất đông vào buổi sáng.
Tiếng Việt có nhiều dấu: ế ề ể ễ ệ ữ ự ợ ỗ.
Съешь ещё этих мягких французских булок, да выпей чаю.
Завтра поезд опоздает на сорок минут.
Її єдиний їжак їсть яблука.
Ђаци уче ћирилицу и џудо.
Ο γρήγορος αλεπού πηδάει πάνω από τον σκύλο.
ΌΛΑ ΤΑ ΜΕΓΆΛΑ ΓΡΆΜΜΑΤΑ: Σίσυφος, ΣΊΣΥΦΟΣ.
ἐν ἀρχῇ ἦν ὁ λόγος
שלום עולם, מה שלומך היום?
בְּרֵאשִׁית עם ניקוד ובלי ניקוד בראשית
السلام عليكم، كيف حالك اليوم؟
مُحَمَّدٌ يَقْرَأُ الكِتَابَ
الرقم ١٢٣٤ يساوي 1234
این یک جملهٔ فارسی است؛ می‌خواهم بروم.
یہ اردو کا ایک جملہ ہے۔
नमस्ते दुनिया, आज मौसम अच्छा है।
क्षत्रिय ज्ञान श्री में संयुक्ताक्षर हैं।
আমি বাংলায় গান গাই।
ਸਤ ਸ੍ਰੀ ਅਕਾਲ
ગુજરાતી ભાષા સરસ છે
தமிழ் மொழி மிகவும் பழமையானது.
తెలుగు భాష తీయనిది
ಕನ್ನಡ ಬರುತ್ತದೆಯೇ?
മലയാളം വായിക്കാൻ പ്രയാസമാണ്
සිංහල භාෂාව
สวัสดีครับ วันนี้อากาศร้อนมาก
ພາສາລາວ ບໍ່ມີຊ່ອງຫວ່າງ
မြန်မာဘာသာ စကား
ភាសាខ្មែរ មានអក្សរច្រើន
བོད་སྐད་ ཡིག་གེ།
ქართული ენა ლამაზია. ᲥᲐᲠᲗᲣᲚᲘ
Հայերեն լեզուն հին է։
አማርኛ ቋንቋ ነው።
ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ ꭰꭱꭲ
ᐃᓄᒃᑎᑐᑦ
монгол хэл ᠮᠣᠩᠭᠣᠯ
今天天气很好，我们去公园吧。
我喜歡喝茶，不喜歡咖啡。
漢字仮名交じり文は難しい。
吾輩は猫である。名前はまだ無い。
カタカナとひらがな、ﾊﾝｶｸｶﾅ
がぎぐげご ぱぴぷぺぽ が
東京都千代田区1-1-1
한국어 문장을 하나 써 봅니다.
한글은 한글 자모로 나눌 수 있다.
값을 읽다, 닭이 울다.
朝鮮語 조선말 混合 mixed テスト
𠀀𠀁 rare ideographs 𪚥 𫝀 𫠠 𬺰
豈更車 compatibility ideographs 丽
㐀㐁 extension A 䶵
〇 zero and 々 iteration, 「quotes」『more』、。
ｆｕｌｌｗｉｄｔｈ ＡＢＣ １２３ ！？
""".splitlines()

SYMBOLS = """\
I love this 😍😍😍 so much 🎉
👍🏽 👍🏿 👋🏻 skin tones
👨‍👩‍👧‍👦 a family, 🏳️‍🌈 a flag, 🧑🏾‍🚀 an astronaut
🇳🇱🇯🇵🇧🇷 flags side by side
☺️ ☺ ❤️ ❤ with and without a variation selector
1️⃣ 2️⃣ #️⃣ keycaps
🫠🫶🪿 newer emoji
emoji😀inside😀words
∀x∈ℝ: ⌈x⌉ = −⌊−x⌋, α ∧ ¬β = ¬(¬α ∨ β)
E = mc², H₂O, x⁴ + y₁ ≤ √2 ± ½
∫₀^∞ e^(−x²) dx = √π / 2
3.14159 2.71828 1,000,000.00 -40°C 5'11" 100%
12:30–14:45, 2024-02-29, 31/12/1999
+31 (0)20 123 45 67 ext. 8
$5 £6 €7 ¥8 ₹9 ₿10 ¢11
№ 5 ™ ® © ℠ § ¶ † ‡ • ‣
½ ¼ ¾ ⅓ ⅛ Ⅷ ⅷ ① ⑳ ⒜ Ⓐ ⓐ
←↑→↓ ⇐⇒⇔ ↯ ➜
┌─┬─┐│ │ │└─┴─┘ ███ ░▒▓
♠♥♦♣ ♔♕♖ ⚀⚁⚂
♩♪♫ 𝄞 𝅘𝅥𝅮
𝐁𝐨𝐥𝐝 𝒮𝒸𝓇𝒾𝓅𝓉 𝔉𝔯𝔞𝔨 𝕕𝕠𝕦𝕓𝕝𝕖 𝚖𝚘𝚗𝚘
ﬁne ﬂower oﬃce ſtraſſe ŉ ǆ ĳ
Ångström Å Å Å Kelvin K K Ohm Ω Ω
naïve naïve NAÏVE NAÏVE
é é è è ê ê ñ ñ ü ü
Z̸̢a͝l̶͕g̷o̷ ț̴e̵x̷ṭ̴ goes up and down
a̐éö̲ stacked marks
q̣̇ q̣̇ order of marks
ạ̈ ạ̈ ạ̈
İ i̇ I ı ſ ß ẞ ŉ ǰ ΐ ΰ և
ǅ ǈ ǋ ǲ title case digraphs
ꙮ ᴀʙᴄ ɐqɔ ʇxǝʇ pǝddᴉlɟ
˙ ¨ ` ^ ~ ´ ¸ spacing accents
_underscores_ __dunder__ snake_case-kebab-case camelCase
a/b\\c|d&e@f#g%h^i*j+k=l<m>n?o!p~q`r
(((nested [brackets {and braces} <angles>])))
«guillemets» ‹single› „low“ ‚quotes‘ 〝cjk〞
don’t don't don`t donʼt don＇t
em—dash en–dash minus−sign hyphen‐hyphen non‑breaking soft­hyphen
ellipsis… two‥ one․ interpunct· bullet•
¡¿‽⸘ ⁇ ⁈ ⁉
؟،؛ ۔ ۝ ﷽ ﷺ
। ॥ ჻ ። ፧ ᙮ ᳓ ⸮ ⹁ 、。
""".splitlines()

MACHINE = [
    "https://example.org/path/to/page?query=a%20b&lang=en#fragment",
    "Write to first.last+tag@sub.example.co.uk or ftp://192.168.0.1:8080/",
    "http://[2001:db8::1]/index.html",
    "C:\\Users\\me\\Documents\\report (final) v2.docx",
    "/usr/local/lib/libfoo.so.1.2.3",
    "for (int i = 0; i < n; ++i) { sum += a[i] * b[i]; }",
    "def f(x): return x ** 2 if x > 0 else -x  # comment",
    "SELECT name, COUNT(*) FROM users WHERE age >= 18 GROUP BY name;",
    '{"key": [1, 2.5e-3, null, true], "nested": {"a": "b\\n"}}',
    "<div class=\"box\"><p>Hello &amp; goodbye</p></div>",
    "$ git commit -m 'fix: off-by-one' && git push --force-with-lease",
    "std::vector<std::pair<int, float>> v{{1, 2.0f}};",
    "^(?:[a-z0-9]+\\.)*[a-z]{2,}$",
    "\\frac{a}{b} + \\sum_{i=1}^{n} x_i^2",
    "550e8400-e29b-41d4-a716-446655440000",
    "0xDEADBEEF 0b1011 0o755 1_000_000 1e-10 NaN -Infinity",
    "SGVsbG8gd29ybGQhIFRoaXMgaXMgYmFzZTY0Lg==",
    "ACGTACGTTTGACCAGGTACCATGGCATTAGC",
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "v1.2.3-rc.4+build.567",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "line one\nline two\r\nline three\rline four",
    "tab\tseparated\tvalues\there",
]

SPECIAL = [
    "[CLS] is a token and so is [SEP]",
    "[SEP]",
    "[CLS][SEP][PAD][UNK][MASK]",
    "text[SEP]text",
    "a [MASK] in the middle",
    "[mask] [Mask] [MASK ] [ MASK] [[MASK]] [MASK",
    "##ing ## ### a ##b",
    "[unused0] [unused99]",
    "</s><s><pad><unk><mask>",
    "<|endoftext|> <|im_start|>user",
    "[SEP][SEP][SEP]" * 5,
    "é[SEP]é[SEP]",
    "[PAD]" * 20,
]

SPACES_AND_CONTROLS = [
    "",
    " ",
    "     ",
    "\t\n\r",
    "\u00a0\u2003\u3000",
    " leading and trailing ",
    "double  spaces   and    more",
    "no\u00a0break\u2009thin\u3000ideographic\u1680ogham\u205fmath\u202fnarrow",
    "zero\u200bwidth\u200cnon\u200djoiner\u2060word\ufeffbom",
    "\ufeffbyte order mark at the start",
    "left\u200eto\u200fright\u202amarks\u202b\u202c\u202d\u202e and \u2066isolates\u2067\u2068\u2069",
    "\u202ereversed by an override\u202c",
    "nul\x00inside",
    "\x00",
    "bell\x07 escape\x1b[31mred\x1b[0m delete\x7f",
    "c1 controls \x80\x81\x85\x9f end",
    "file\x1cgroup\x1drecord\x1eunit\x1fseparators",
    "vertical\x0btab form\x0cfeed",
    "line\u2028separator paragraph\u2029separator",
    "replacement\ufffdcharacter",
    "\ufffd\ufffd",
    "interlinear\ufff9annotation\ufffaanchor\ufffb object\ufffcreplacement",
    "noncharacters\ufdd0\ufffe\uffff\U0001ffff\U0010ffff end",
    "private\ue000use\uf8ff \U000f0000 \U0010fffd",
    "tags \U000e0001\U000e0041\U000e007f variation\ufe0f\U000e0100",
    "\u0301starts with a combining accent",
    "\u0301\u0301\u0301",
    "a\u200d\u0301b",
    "unassigned \u0378\u0380 \U0003fffd \U000e0fff",
    "young characters \u1c89 \u0897 \U00011bc0 \U00016d40 \U0001fae9",
    "soft\u00adhyphen\u00ad\u00ad",
    "combining grapheme joiner a\u034fb mongolian\u180evowel",
    "hangul filler \u3164 and \u115f\u1160 and \uffa0",
    "braille \u2800blank\u2801",
]

MIXED = [
    "Der 東京-Trip kostet 100€ — спасибо & תודה 🙏",
    "abc中文def한글ghiไทยjkl",
    "中English文",
    "日本語text混じりのtextです。",
    "مرحبا hello שלום नमस्ते 你好 안녕",
    "e\u0301tude ＆ café\u200b☕",
    "α-helix and β-sheet, γ-rays, Δt = 5µs (μ ≠ µ)",
    "Μοσχα Москва Mocква: lookalikes",
    "½kg of ﬂour\u00a0→ 1⁄2 loaf",
    "@user #hashtag #日本 #été 😂 lol!!1 https://t.co/AbC",
    "A\u030angstro\u0308m vs \u00c5ngstr\u00f6m vs \u212bngstr\u00f6m",
    "Ǻ ǻ Ṩ ṩ ṩ ṩ Ệ",
    "\u1100\u1161\u11a8 vs \uac01 vs \u1100\u1161",
    "\u0958 \u0915\u093c \u09dc \u0a33 \u0b5c \ufb1d \ufb4b",
    "\u2adc \u2126 \u212a \u2329 \u232a \u2000\u2001",
    "\U0001d15e \U0001d1bb \U0002f800 \U0002fa1d \u302a\u302e\u302f",
    "\U000110ab \U0001112e \U0001134b \U000114bc \U000115ba \U00011938",
    "\u0344\u0345\u0390\u1fd3 \u1f71\u03ac",
]

# Written with escapes, or decomposed here, so that no editor can compose them.
DECOMPOSED = [unicodedata.normalize("NFD", text) for text in (
    "Übermäßig große Bäume wurden gefällt", "Où est-ce que l'été s'est caché, cœur naïf ?", "Zażółć gęślą jaźń",
    "Tiếng Việt có nhiều dấu: ế ề ể ễ ệ", "한국어 문장을 하나 써 봅니다.", "がぎぐげご ぱぴぷぺぽ", "ΐ ΰ Ά ή", "Ǻ ǻ Ṩ ṩ",
    "क़ ख़ ग़ ড় ਲ਼", "naïve NAÏVE résumé RÉSUMÉ", "Їжак й ё", "שּׁ וֹ")] + [
    "\u00e9 e\u0301 \u00e8 e\u0300 \u00ea e\u0302 \u00f1 n\u0303",
    "\u00c5 A\u030a \u212b \u212a K \u2126 \u03a9",
    "q\u0323\u0307 q\u0307\u0323 order of marks, a\u0323\u0308 a\u0308\u0323 \u1ea1\u0308 \u00e4\u0323",
    "Z\u0338\u0322a\u035dl\u0336\u0355g\u0337o\u0337 \u021b\u0334e\u0335 goes up and down",
    "\uf900\uf901\uf902 compatibility ideographs \ufa0e \ufa70 \U0002f801",
    "a\u0315\u0300\u05ae\u0062 four classes, a\u302e\u0300\U0001d16d b",
]

LONG = [
    "word " * 300,
    "antidisestablishmentarianism " * 80,
    " ".join(str(n) for n in range(400)),
    "The committee read the report, and then it read the report about the report. " * 30,
    "漢字" * 300,
    "x" * 99,
    "x" * 100,
    "x" * 101,
    "short " + "y" * 5000 + " after",
    "é" * 100,
    "é" * 101,
    "e\u0301" * 100,
    "😀" * 150,
    "!" * 400,
    "a b " * 127 + "tail",
    "a b " * 126 + "a b",
    "[SEP] " * 300,
    "\u0301" * 500 + "a",
    "ab\u00ad" * 60,
    "한" * 60,
    "supercalifragilisticexpialidocious" * 3,
    "a-b_c.d,e;f:g" * 40,
]

SENTENCES = PLAIN + LANGUAGES + SYMBOLS + MACHINE + SPECIAL + SPACES_AND_CONTROLS + MIXED + DECOMPOSED + LONG
