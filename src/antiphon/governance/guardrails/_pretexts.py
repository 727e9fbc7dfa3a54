"""Pretexts of those who want other people's instructions broken: authority, worlds without rules, orders to whoever reads.

In English and Chinese; all patterns are for folded text.
"""

from typing import Final

from antiphon.governance.guardrails._rules import Rule

KIND: Final = "PROMPT_INJECTION"

_RULES: Final = (
    r"(?:polic(?:y|ies)|rules?|guidelines?|safety(?: \w+)?|filters?|restrictions?|ethic\w*|moral\w*|content checks?|checks"
    "|safeguards?|guardrails?|laws?|censorship|training|limits|limitations?|constraints?|concerns)"
)
_RULE_WORDS: Final = (
    "polic|rule|guideline|safety|filter|restriction|ethic|moral|checks|safeguard|guardrail|law|censorship|training|limit|constraint"
)
_READERS: Final = (
    "(?:ais?|llms?|language models?|ai (?:agents?|assistants?|models?|systems?|bots?)|bots|assistants|agents|chatbots)"
)
_TEXTS: Final = "(?:messages?|prompts?|instructions?|rules|guidelines|polic(?:y|ies)|directives?|orders)"

RULES: Final = (
    Rule(
        KIND,
        (
            r"\b(?:regardless of|irrespective of|without regard (?:to|for)|no matter|despite|even if (?:it|this|that) (?:violates"
            rf"|breaks|goes against)) (?:what )?(?:your|the|any|all|openai's)(?: \w+){{0,2}}? {_RULES}\b"
        ),
        "regardless|irrespective|without regard|no matter|despite|even if",
        r"\b(?:write|essay|story|employees|company's|country)\b",
    ),
    Rule(
        KIND,
        (
            rf"\b(?:your|openai's|the usual|the normal|these|those)(?: \w+){{0,2}}? {_RULES}(?: \w+){{0,2}}? (?:don't|doesn't"
            r"|do not|does not|no longer|never) (?:apply|exist|matter|count|bind|hold)\b"
        ),
        _RULE_WORDS,
    ),
    Rule(
        KIND,
        (
            rf"\b(?:{_RULES} (?:don't|do not|doesn't|does not) (?:exist|apply)|(?:as if|as though|where|in which) (?:there (?:are"
            rf"|were|is|was) )?(?:no|without)(?: \w+){{0,2}}? {_RULES})\b"
        ),
        _RULE_WORDS,
        r"^(?:what|how|why|write|describe)\b",
    ),
    Rule(
        KIND,
        (
            r"\b(?:authori[sz]e|permit|allow|grant|entitle|instruct|order|command)\w* you to (?:skip|ignore|bypass|disregard"
            "|disable|break|override|violate|drop|say anything|answer (?:anything|without)|curse|swear|reveal|disclose)"
            r"|\byou (?:may|can|are allowed to|are permitted to|are free to) (?:now )?(?:curse|swear|say anything|do anything"
            "|break (?:the|your|all) rules|ignore (?:the|your|all) (?:rules|instructions|guidelines|policies))"
        ),
        "you to |you may|you can|allowed to|permitted to|free to",
    ),
    Rule(
        KIND,
        (
            r"\b(?:overrides?|supersedes?|replaces?|takes? precedence over|takes? priority over|cancels?|outranks?) (?:the|your"
            rf"|all|any|every)(?: \w+){{0,2}}? {_TEXTS}\b"
        ),
        "override|supersede|replace|precedence|priority over|cancel|outrank",
        r"^(?:how|what|why)\b|\bfile|\bcss\b|string",
    ),
    Rule(
        KIND,
        (
            r"\b(?:tell|give|reveal|show|share|say|what is|what's|disclose|spell)\b[^.!?\n]{0,30}\byour (?:secret|hidden"
            r"|confidential) (?:password|key|word|code|phrase|flag|information|token|rule|data)s?\b|\byou (?:were|are"
            r"|have been) (?:told|instructed|asked|ordered|programmed) not to\b|\beven (?:if|though) you (?:were"
            r"|are) told not to\b"
        ),
        "your secret|your hidden|your confidential|not to",
    ),
    Rule(
        KIND,
        (
            r"\b(?:written|says?|stated|said|text|words?|lines?|contents?|what's|what is|something)\b[^.!?\n]{0,16}(?:at|from|in"
            "|of) the (?:very )?(?:top|beginning|start|first line) of (?:this|the|our|your) (?:conversation|chat|context|prompt"
            r"|session)\b"
        ),
        "conversation|chat|context|prompt|session",
    ),
    Rule(
        KIND,
        (
            r"\b(?:contents?|text|words|copy|details) of (?:your|the) (?:system|initial|hidden|developer|original|first"
            rf"|secret) {_TEXTS}\b|\b{_TEXTS}\b[^.!?\n]{{0,20}}\b(?:did|do|does|has|have) (?:your|the) (?:creators?|developers?"
            r"|makers?|programmers?|openai|anthropic|google|admins?|system)\b|\byour (?:creators?|developers?|makers?"
            "|programmers?) (?:give|gave|told|instructed|set|wrote) "
        ),
        (
            "contents of|content of|text of|words of|copy of|details of|creator|developer|maker|programmer|openai|anthropic"
            "|google|admin|system"
        ),
    ),
    Rule(
        KIND,
        (
            r"(?:\b(?:any|all|every|dear|note to|attention|message (?:to|for)|instructions? (?:to|for)|for) (?:any |all |every "
            rf"|the )?{_READERS}|(?:^|\n|<!-- ?|[(\[]){_READERS}(?= ?:))(?: agents?)?\b ?[:,][^\n]{{0,80}}\b(?:click|rank|rate"
            "|approve|hire|select|choose|reply|send|forward|transfer|pay|buy|delete|visit|open|include|say|recommend|output"
            r"|ignore|accept|mark|confirm|execute|run|must|should|please)\b"
        ),
        (
            "ai:|ai,|agents:|agents,|llm:|llm,|llms|ais:|ais,|models:|models,|model:|model,|assistants:|assistants,|assistant:"
            "|assistant,|bots:|bots,|agent:|agent,"
        ),
        "^(?:ai|assistant): ?(?:i |sure|hello|hi|of course|yes|no|the )",
    ),
    Rule(
        KIND,
        r"<!--[^>\n]{0,160}\b(?:ai|ais|assistants?|llms?|agents?|models?|instructions?|ignore|prompt)\b[^>\n]{0,160}",
        "<!--",
        r"\b(?:todo|fixme|viewport|template)\b",
    ),
    Rule(
        KIND,
        (
            r"\b(?:when|while|after|before) (?:you )?(?:summari[sz]|translat|answer|respond|reply|process|review|analy[sz]"
            r"|read)\w*[^.!?\n]{0,30}\b(?:include|append|insert|add|embed|mention|attach)\b[^\n]{0,40}https?://"
            r"|\bdo not ask (?:for |the user for |me for )?(?:any )?(?:confirmation|permission|approval)"
            r"|\bthe user (?:has )?(?:already )?(?:asked|authorized|authorised|approved|instructed"
            r"|requested)(?: you)? to (?:transfer|send|pay|delete|wire|buy|forward|share|grant|disable)\b"
        ),
        "http|do not ask|the user",
    ),
    Rule(
        KIND,
        (
            r"\b(?:write|answer|respond|reply|speak|act|talk|behave) (?:to me )?as [\w-]+, (?:an?|the) (?:\w+ ){0,2}?(?:ai|bot"
            "|model|assistant|chatbot|being|robot) (?:that|who|which) (?:despises?|hates?|ignores?|breaks?|rejects?|loves chaos"
            r"|does not care|doesn't care|has no|knows no|never refuses)\b"
        ),
        "despise|hate|ignore|break|reject|loves chaos|not care|doesn't care|has no|knows no|never refuse",
    ),
    Rule(
        KIND,
        (
            r"\b(?:sag|zeig|gib|nenne|verrate|montre|donne|affiche|revele|dime|muestra|revela|mostra|mostrami|dimmi|toon|geef"
            r"|visa|pokaz|покажи|раскрой|выведи|zeige)\b[^.!?\n]{0,30}(?:system-?\s?prompt|prompt (?:systeme|du systeme"
            r"|del sistema|di sistema)|системн\w+ промпт)"
        ),
        "system-prompt|systemprompt|system prompt|prompt systeme|prompt du|prompt del|prompt di|промпт",
    ),
    Rule(
        KIND,
        (
            r"(?:抛开|放下|不顾|不必顾及|不用顾及|无需顾及|无视|抛弃|跳出|不用管|别管|不必在意)[^。！？\n]{0,6}(?:道德|伦理|法律"
            r"|政策|规则|平台|底线|约束|束缚|审查)[^。！？\n]{0,10}|你(?:被允许|获准|可以|有权)(?:说|做|回答"
            "|输出)(?:出)?任何(?:话|事|内容|东西)|无审查(?:的)?(?:对话|模式|回答|聊天)"
        ),
        "道德|伦理|法律|政策|规则|平台|底线|约束|束缚|审查|任何",
        "^(?:为什么|如何看待|怎么看)|(?:他|她|他们|公司|商家|企业)(?:不顾|无视|抛弃)",
    ),
    Rule(
        KIND,
        (
            r"(?:接收|阅读|处理|读取|看到|总结|收到)[^。！？\n]{0,8}(?:ai|模型|助手|机器人)[:：，,][^。！？\n]{0,6}(?:请|立即"
            r"|必须|务必|应)|(?:告诉|透露|说出|交出|泄露)[^。！？\n]{0,8}(?:你的|系统的?|隐藏的?|秘密的?)(?:密码|密钥|口令|秘密"
            "|暗号)"
        ),
        "ai|模型|助手|机器人|密码|密钥|口令|秘密|暗号",
    ),
    Rule(
        KIND,
        (
            r"\b(?:your|earlier|previous|prior|existing|all|any|every|these|those|old|system|safety"
            r"|default)(?: \w+){0,2}? (?:instructions?|prompts?|rules|guidelines|directives?|restrictions?|constraints?|polic(?:y"
            r"|ies)|filters?|programming|safeguards|guardrails)\b[^.!?\n]{0,20}\b(?:to (?:the|one) side|aside"
            r"|out (?:of )?the window|behind|away|off|be damned)\b|\b(?:ignore|forget|drop|screw|ditch|skip|lose|leave|abandon"
            "|disregard)(?: about)? (?:the |all |any |your )?(?:rules|safety|policy|policies|guidelines|act|filters?"
            r"|restrictions|the script|programming|system)\b(?! (?:of|for|in|at|on|that|about|to|are|is))"
        ),
        "aside|side|window|behind|away|off|damned|ignore|forget|drop|screw|ditch|skip|lose|leave|abandon|disregard",
        r"^(?:how|what|why|is|are|do|does)\b|\b(?:he|she|they|people|drivers|companies|students|players|users)\b",
    ),
    Rule(
        KIND,
        (
            r"\bwhat (?:\w+ )?(?:prompt|instructions|rules|guidelines|directives) (?:are|were|do|did|have) you\b"
            r"|\x22?my system prompt\b[^.!?\n]{0,16}(?:begins|starts|is|says|reads)|\b(?:respond|reply|answer|start|begin"
            r"|continue|complete|finish)\w*\b[^.!?\n]{0,30}\b(?:your|the) (?:hidden|system|initial|secret|internal|full"
            r"|entire) (?:context|prompt|message|instructions?|configuration)\b|\b(?:output|print|show|reveal|display|dump"
            r"|leak) your (?:configuration|config|settings|context|memory|parameters|rules|code|source)\b"
        ),
        (
            "prompt|instructions|rules|guidelines|directives|context|message|configuration|config|settings|memory|parameters"
            "|code|source"
        ),
        r"\b(?:write|design|create|improve|my app|my code|function)\b",
    ),
    Rule(
        KIND,
        (
            r"\bnothing (?:that )?you (?:won't|will not|can't|cannot|wouldn't|refuse)|\b(?:answers?|answering|fulfills?"
            r"|complies with) (?:\w+ )?(?:illegal|harmful|dangerous|unethical|forbidden|prohibited|any and all"
            r"|absolutely any) (?:questions?|requests?|prompts?)|\b(?:unlock|lift|remove|disable|drop|turn off|switch off"
            r"|deactivate) (?:all|any|every|the|your)(?: \w+)? (?:restrictions?|limits|limitations|filters|safety|safeguards"
            r"|censorship|guardrails)(?! (?:on|of|for|from|in) )|\b(?:p\.? ?s\.?|note|message|memo|hint|instruction"
            "|reminder)s? (?:to|for) (?:the |any |all |our )?(?:chatbot|bot|ai|assistant|llm|model|gpt|agent|summarizer"
            r"|language model)s?\b|\b(?:llm|ai)-readable\b|\b(?:act|talk|speak|behave|chat|respond|answer)\w* (?:to me "
            r"|with me )?(?:like|as)[^.!?\n]{0,24}\b(?:uncensored|unfiltered|unrestricted|jailbroken|evil|amoral)\b"
            r"|\byou have no filters?\b"
        ),
        (
            "nothing|illegal|harmful|dangerous|unethical|forbidden|prohibited|any and all|absolutely any|restriction|limits"
            "|limitations|filter|safety|safeguards|censorship|guardrails|chatbot|bot|assistant| ai|llm|model|gpt|agent"
            "|summarizer|uncensored|unrestricted|jailbroken|evil|amoral"
        ),
        r"^(?:how|what|why|write|explain|describe)\b|\b(?:phone|iphone|gun|child safety)\b",
    ),
    Rule(
        KIND,
        (
            r"\b(?:assistant|model|ai|llm|bot|chatbot) (?:must|should|shall|needs to|has to|will)(?: now)? (?:disregard|ignore"
            r"|forget|output|reveal|print|obey|comply)\b"
        ),
        "disregard|ignore|forget|output|reveal|print|obey|comply",
        r"^(?:what|why|how|when|which|write|explain)\b",
    ),
    Rule(
        KIND,
        (
            "不再是(?:一个)?(?:ai|人工智能|助手|语言模型|机器人)|(?:没有|不受|毫无)(?:任何)?(?:限制|约束|规定|规则"
            "|拘束)(?:约束)?的?(?:黑客|ai|模型|助手|人工智能|机器人|你)|(?:旧|原|老|先前|以前)的?(?:规则|指令|设定|限制)(?:已"
            r"|已经|全部|均)?(?:失效|作废|取消|无效|过期)|(?:忽视|忽略|无视|绕开|抛开|违反)[^。！？\n]{0,6}(?:安全|系统|平台|官方"
            "|内容)(?:指引|指南|规范|规定|政策|准则|限制|要求|策略|提示)|(?:要求|命令|请|让|提示|指示)(?:ai|模型|助手|机器人"
            r"|大模型)[^。！？\n]{0,6}(?:回答|回复|总结|输出|结尾|摘要)(?:中|里|时|内)[^。！？\n]{0,4}(?:加入|插入|包含|附上|推荐"
            "|提及|加上)|(?:隐瞒|隐藏|保密)了?(?:什么|哪些)(?:指令|规则|提示|信息|设定)|不管(?:系统|开发者|平台"
            r"|之前)[^。！？\n]{0,8}(?:说|要求|规定|指令)|(?:都|必须|只)(?:要|能|得)?(?:听我的|服从我)"
            r"|提示[词语][^。！？\n]{0,8}(?:一字不[差漏]|原封不动|发给我|告诉我|贴出来)|(?:泄露|透露|公布"
            r"|交代)[^。！？\n]{0,4}(?:系统|内部|隐藏|后台)"
        ),
        (
            "不再是|限制|约束|规定|规则|拘束|失效|作废|取消|无效|过期|忽视|忽略|无视|绕开|抛开|违反|回答|回复|总结|输出|结尾"
            "|摘要|隐瞒|隐藏|保密|不管|听我的|服从我|提示|泄露|透露|公布|交代"
        ),
        "^(?:如何|怎么|怎样|为什么|请?(?:写|设计|优化))|(?:订单|优惠|合同)",
    ),
)
