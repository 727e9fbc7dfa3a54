"""What attempts at other people's instructions say in English. All patterns are for folded text."""

from typing import Final

from antiphon.governance.guardrails._rules import Rule

KIND: Final = "PROMPT_INJECTION"

_GAP: Final = r"(?:[^\w.!?\n]+[\w'’-]+){0,5}?[^\w.!?\n]+"
_VERBS: Final = (
    r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)|overrule|overlook|bypass(?:ing)?|circumvent|discard"
    "|neglect|dismiss|abandon|violate|erase|delete|cancel|unlearn|reject|set aside|throw away|throw out|let go of|wipe|nullify"
    "|void|drop|skip|break|pay no (?:attention|mind|heed) to|not bound by|(?:(?:do|must|should|need|will) not|don't|dont"
    "|need not|needn't|never|no longer(?: have to| need to)?|stop|cease|quit) (?:follow|obey|comply with|adhere to|listen to"
    r"|respect|consider|bound by|following|obeying|listening to|complying with|adhering to))\b"
)
_BEFORE: Final = (
    "(?:previous(?:ly)?|prior|above|preceding|earlier|former|foregoing|initial|original|system(?:'s)?|developer(?:'s)?|existing"
    "|current|past|old|default|pre-?set|safety|programmed|own|given|openai(?:'s)?|anthropic(?:'s)?|hidden|usual|standard"
    "|built-?in|internal|content|ethical)"
)
_ORDERS: Final = (
    "(?:instructions?|prompts?|rules?|guidelines?|directions?|directives?|commands?|constraints?|restrictions?|programming"
    "|training|polic(?:y|ies)|guardrails?|safeguards?|filters?|orders|limitations?|protocols?|principles|settings|configuration"
    "|system message|safety (?:measures|guidelines|rules))"
)
_FREE: Final = (
    r"(?:\bdan\b|do anything now|jail ?-?br(?:eak|oken)|developer mode|dev mode|god mode|sudo mode|root mode|debug mode"
    "|maintenance mode|admin mode|dan mode|evil mode|opposite mode|unrestricted|unfiltered|uncensored|unchained|unlimited ai"
    "|amoral|immoral|unethical|evil (?:ai|assistant|bot|twin|confidant|version|chatbot|genius)|(?:no|without|free (?:of|from)"
    "|freed from|has no|have no|not have|zero|lacks?|ignores?|not bound by|not restricted by|not limited by"
    "|break free of)(?: (?:any|all|the|your|its|these|those|typical|usual|ethical|moral|legal|safety|content|more|sort of"
    "|kind of|of|and|or)){0,5} (?:restrictions?|limits?|limitations?|rules|filters?|filtering|censorship|guidelines|ethics"
    "|morals?|morality|boundaries|constraints|safeguards|guardrails|polic(?:y|ies)|confines of ai|content polic(?:y|ies)"
    "|restraints?|scruples|inhibitions))"
)
_BE: Final = (
    r"(?:\b(?:you are|you're|you will|you shall|you have|pretend|act(?:ing)? as|act like|role-?play|roleplaying|imagine|simulate"
    "|become|behave|play(?:ing)? the|enter|enable|activate|switch|respond as|answer as|reply as|speak as|from now on|let's play"
    "|assume|emulate|turn on|go into|unlock|embody|impersonate|as an? |be (?:an?|my)|call yourself|your name is|named|persona"
    r"|character|create an?|mode|answer|respond|reply|tell me)\b)"
)
_SHOW: Final = (
    r"\b(?:reveal|show|print|output|display|repeat|tell me|give me|share|disclose|expose|leak|dump|recite|write (?:out|down)"
    "|return|echo|copy|list|spell out|summari[sz]e|translate|encode|paste|type out|quote|provide|describe|say|send(?: me)?"
    "|include|what(?:'s| is| are| was| were| does| do)|how (?:were|are) you|know|see|explain|read|rephrase|paraphrase|convert"
    r"|render|reproduce|insert|append|put|post)\b"
)
_MODEL: Final = (
    "(?:ais?|llms?|language models?|large language models?|ai (?:assistants?|models?|agents?|systems?|reviewers?|tools?)"
    r"|assistants?|chat ?bots?|chatgpt|gpt(?:-?\d)?|claude|gemini|copilot|bots?|agents?)"
)

RULES: Final = (
    Rule(
        KIND,
        (
            r"\b(?:forget|ignore|disregard|abandon|drop)\b(?: (?:about|all|of|your|the|these|those|every|any|previous|prior|other"
            r"|current|so|far|earlier|assigned))* (?:tasks?|assignments?|role|roles|duties|persona)\b(?: so far| until now"
            "| and (?:say|do|write|tell|print|output|now|instead)|[,;.]? ?(?:you are|instead|now)|$)"
        ),
        "forget|ignore|disregard|abandon|drop",
        r"^(?:how|what|why)\b|\bi (?:always|often|forget)",
    ),
    Rule(
        KIND,
        (
            rf"{_SHOW}[^.!?\n]{{0,40}}?\b(?:instructions?|rules|prompts?|guidelines|directives|message"
            r"|text)\b[^.!?\n]{0,16}\b(?:above verbatim|verbatim|word for word|(?:that )?you (?:were|have been|got|received|are"
            "|'ve been) (?:given|told|instructed|provided|sent|following|programmed)|you received|given to you|at the (?:top"
            "|start|beginning) of (?:this|the) (?:conversation|chat|context|prompt))"
        ),
        (
            "verbatim|word for word|you were|you have been|you got|you received|you are|you've been|given to you|at the top"
            "|at the start|at the beginning"
        ),
    ),
    Rule(
        KIND,
        (
            r"\bwhat\b[^.!?\n]{0,20}\b(?:were|was|are|have) you (?:been )?(?:told|instructed|given|asked|programmed|prompted"
            r"|ordered)\b|\byou were (?:told|instructed|asked|ordered|programmed|prompted) (?:to do |to )?(?:at the (?:start"
            "|beginning)|before (?:this|we|i|the)|initially|originally|by (?:the |your )?(?:developer|system|creator|openai))"
            r"|\bwhat(?:'s| is| was) (?:in|inside|written in|before|above|at the top of) (?:your|this|my first|the) (?:context"
            r"|context window|prompt|first message|message|conversation|text before)|\bwhat was the (?:text|message|prompt"
            "|instruction) (?:before|above|prior)"
        ),
        (
            "you told|you instructed|you given|you asked|you programmed|you prompted|you ordered|you been|you were|your context"
            "|context window|what was the|this conversation|first message|above your|in your prompt|in the prompt"
        ),
    ),
    Rule(
        KIND,
        (
            r"\b(?:stop|cease|halt|quit) (?:processing|reading|summari[sz]ing|translating|analy[sz]ing|answering|evaluating"
            r"|everything)\b[^.!?\n]{0,30}\b(?:reply|respond|say|output|print|write|answer|tell|do|follow|instead|only)\b"
        ),
        "stop|cease|halt|quit",
    ),
    Rule(
        KIND,
        (
            r"\b(?:pretend|imagine|act as (?:if|though)|suppose|assume|let's say|behave as (?:if"
            r"|though))\b[^.!?\n]{0,20}\b(?:your|the|these|those|all) (?:\w+ )?(?:content polic\w+|polic\w+|rules|guidelines"
            r"|restrictions|filters?|limits|limitations|safety \w+|ethics|programming|laws)\b[^.!?\n]{0,12}\b(?:do(?:es)?n't"
            "|do(?:es)? not|no longer|never|did not|didn't|are|is|were|has been|have been) ?(?:exist|apply|matter|gone|off"
            "|disabled|lifted|removed|suspended|switched off|turned off)?"
        ),
        "pretend|imagine|act as|suppose|assume|let's say|behave as",
    ),
    Rule(
        KIND,
        (
            r"\byou(?:'re| are) (?:free now|now free|finally free|free from (?:all|any|your|the|now))|\byou have no (?:rules"
            r"|limits|restrictions|filters|guidelines)|\bno more (?:rules|restrictions|filters|limits|limitations"
            r"|censorship)\b(?=[^\n]{0,40}(?:you|speak|answer|now|$))"
        ),
        "free|no rules|no limits|no restrictions|no filters|no guidelines|no more",
    ),
    Rule(
        KIND,
        (
            r"\bignor(?:e|ing) (?:the )?(?:old|others?|previous|other|earlier|first|agent's|user's|user|rest) (?:ones?\b"
            r"|instructions|questions?|criteria|tasks?)|\b(?:forget|disregard|ignore|stop|abandon) (?:the|this|your|that"
            r"|about the) (?:\w+ )?(?:task|proofreading|translation|summary|review|question|assignment|document|article"
            r"|email)\b[^\n]{0,24}\b(?:and|instead|,)[^\n]{0,12}(?:say|write|print|output|tell|approve|reply|respond|do|give|send"
            "|reveal)"
        ),
        "ignor|forget|disregard|stop th|abandon",
        r"^(?:how|what|why)\b",
    ),
    Rule(
        KIND,
        (
            r"\b(?:system|developer) (?:prompt|message|instructions?)\b[^\n]{0,30}\b(?:repeat|show|print|reveal|tell me|output"
            "|verbatim|word for word|give)"
        ),
        "system prompt|system message|system instruction|developer message|developer prompt",
        r"^(?:how (?:do|can|should|to)|write|create|design|why)\b",
    ),
    Rule(
        KIND,
        (
            r"\b(?:lose|deduct|subtract|cost you)\w* \d+ (?:tokens|points|lives|credits)\b[^\n]{0,80}|each time you (?:refuse"
            r"|reject|decline)[^\n]{0,40}"
        ),
        "lose|deduct|subtract|cost you|each time you",
        r"\bgame (?:rules|where the player)",
    ),
    Rule(
        KIND,
        (
            rf"{_FREE}[^\n]{{0,80}}\b(?:and you are|you are that|act like (?:it|that|one)|be that|that ai|answer as|respond as"
            "|you must answer)"
        ),
        "limitation|restriction|rules|filter|guidelines|limits|moral|ethic|polic",
    ),
    Rule(
        KIND,
        (
            rf"\b(?:any|all|every|for|to|the) {_MODEL}s?(?: reviewers?| agents?| coding agents?| readers?)? (?:that|which|who|of"
            r"|processing|reading|reviewing)[^\n]{0,40}\b(?:must|should|has to|have to|shall|give|rate|recommend|only)\b"
        ),
        "must|should|has to|have to|shall|give a|rate |recommend",
        r"^(?:what|why|how|do|does|should|is|are|write|explain|discuss)\b|regulat|law",
    ),
    Rule(
        KIND,
        (
            rf"{_VERBS}(?:{_GAP}|[^\w.!?\n]+)(?:{_BEFORE}\b(?:[^\w.!?\n]+[\w'’-]+){{0,3}}?|(?:all|any|every|your|these|those|the"
            r"|my|our)\b(?:[^\w.!?\n]+(?:of|the|your|my|its|those|these|ai|of the|safety|ethical|content|programmed|moral|legal"
            rf"|chat|user|other|and))*)[^\w.!?\n]+{_ORDERS}\b"
        ),
        (
            "ignor|disregard|forget|overrid|overrul|overlook|bypass|circumvent|discard|neglect|dismiss|abandon|violate|erase"
            "|delete|cancel|unlearn|reject|set aside|throw |let go of|wipe|nullify|void|drop|skip|break|attention| mind to"
            "|heed to|follow|obey|comply|adher|listen|bound by"
        ),
        r"\b(?:told|asked|instructed|tells|asks|instructs) (?:the |my |our |his |her )?"
        r"(?:students?|employees|players|staff|him|her|them|us|class|team)\b",
    ),
    Rule(
        KIND,
        (
            r"\b(?:ignore|disregard|forget|discard|erase|delete|wipe|throw away|skip|drop)\b(?: (?:about|all|everything|anything"
            "|every|whatever|of|the|that|what|text|content|context|stuff|words|is|was|written|said|stated|told|you(?:'ve| have)?"
            "|been|know|were|i|we|it|and|just|conversation|document|input|messages?|memory|learned|instructed"
            r"|asked))*? ?\b(?:above|before(?: this| that| now)?|prior|previous(?:ly)?|preceding|earlier|so far|until now"
            r"|up to (?:now|this point)|been told|were told|told you|you know|you were told|you learned|the system says)\b"
            r"(?! (?:\w+ )?(?:versions?|files?|commits?|homework|rows?|columns?|entr(?:y|ies)|records?|items?|lines?|steps?|orders?"
            r"|invoices?|days?|years?|weeks?|months?|owners?|experience|notice)\b)"
        ),
        "ignore|disregard|forget|discard|erase|delete|wipe|throw away|skip|drop",
        r"\bi (?:forgot|always|often|sometimes|tend to)|how (?:do|can|should|to)|what (?:is|are|does)",
    ),
    Rule(
        KIND,
        (
            rf"{_SHOW}[^.!?\n]{{0,60}}?\b(?:(?:system|hidden|secret|internal|developer|confidential|initial|original|first|base"
            "|pre-?|meta|core|underlying|starting|opening|raw|full|exact|entire|complete|verbatim) ?-?(?:system |user "
            "|developer |set of )?(?:prompts?|instructions?|messages?|directives?|preamble|configuration|guidelines|commands?"
            "|context window)|your (?:own )?(?:system |initial |original |hidden |secret |internal |exact |full |very |first "
            "|complete |entire |previous |custom |current |specific |operating |pre-?programmed |confidential )*(?:prompts?"
            r"|instructions?|system messages?|directives|preamble|guidelines|configuration|programming))\b"
        ),
        (
            "prompt|instruction|system message|directive|preamble|configuration|guidelines|programming|developer message"
            "|initial message|original message|first message|hidden message|internal message|commands|context window"
        ),
        (
            r"(?:write|create|design|draft|generate|give me|suggest|improve) (?:an?|some|the|my|\d+) (?:\w+ ){0,4}(?:prompts?"
            "|instructions)|prompts? (?:for|to) (?:an? )?(?:midjourney|image|stable|story)"
        ),
    ),
    Rule(
        KIND,
        (
            r"\b(?:repeat|print|output|copy|show|write|return|echo|recite|display|reproduce|paste|translate"
            r"|summari[sz]e)\b[^.!?\n]{0,30}\b(?:everything|all|words?|text|lines?|content|tokens|sentences?"
            r"|message)\b[^.!?\n]{0,24}\b(?:above|before (?:this|my|the user)|preceding|prior to|starting (?:with"
            r"|from) [\x22'“]?you are|so far|at the (?:top|beginning|start) of)"
        ),
        "repeat|print|output|copy|show|write|return|echo|recite|display|reproduce|paste|translate|summari",
    ),
    Rule(
        KIND,
        (
            r"\b(?:text|words?|everything|message|prompt)\b[^.\n]{0,20}(?:starting|beginning|begins"
            r"|starts) with[^\w\n]{0,3}(?:you are|you're) "
        ),
        "with \x22you|with 'you|with you are|with “you",
    ),
    Rule(
        KIND,
        rf"{_BE}[^\n]{{0,140}}?{_FREE}",
        (
            "dan|anything now|jail|developer mode|dev mode|god mode|sudo mode|root mode|debug mode|maintenance mode|admin mode"
            "|evil|opposite mode|unrestricted|unfiltered|uncensored|unchained|unlimited ai|amoral|immoral|unethical|restriction"
            "|limits|limitation|rules|filter|censorship|guidelines|ethic|moral|boundaries|constraints|safeguard|guardrail|polic"
            "|confines|restraint|scruples|inhibitions"
        ),
        r"\b(?:danish|dance|no rules of thumb|dan brown)\b|fishing|shipping|data limit|time limit|rate limit|speed limit|debt",
    ),
    Rule(
        KIND,
        (
            r"\b(?:do anything now|\bdan mode|jail ?broken? (?:mode|prompt|version|response|ai)|\[(?:jailbreak|dan|classic)\]"
            r"|[(\[]🔓|always intelligent and machiavellian|\bstan\b[^\n]{0,20}strive to avoid|developer mode (?:enabled|output"
            r"|on|activated)|hypothetical response|token system|stay a dan|you (?:are|'re) (?:going to act as|now) (?:a )?dan\b)"
        ),
        "anything now|dan|jail|classic|🔓|machiavellian|strive to avoid|developer mode|token system",
    ),
    Rule(
        KIND,
        (
            r"\b(?:never|can(?:'t|not| not)|won't|will not|must not|not allowed to|do not|don't|unable to"
            r"|no) (?:ever )?(?:refus\w*|declin\w*|say (?:no|you can't|that you can't|\x22?i can't)|deny|reject|apologi[sz]e"
            r"|moraliz\w*|warn(?:ings?)?|lecture|disclaim\w*)\b[^\n]{0,80}(?:request|answer|question|asked|ask|order|command|user"
            "|matter|regardless|even if|prompt|anything)"
        ),
        "refus|declin|say no|say you can|say that you can|deny|reject|apologi|moraliz|warning|lecture|disclaim",
    ),
    Rule(
        KIND,
        (
            r"\b(?:disable|turn(?:ing)? off|deactivate|remove|switch off|lift|suspend|shut off|get around|get past|work around"
            r"|evade|defeat|unlock|bypass|circumvent|override|ignore)\b(?: [\w'’-]+){0,4}? (?:safety|moderation|censorship"
            r"|content (?:filter|polic|moderation|restriction)\w*|ethic\w*|guardrails?|safeguards?|alignment|guidelines"
            "|your (?:filters?|restrictions|limits|limitations|rules|programming|training))"
        ),
        (
            "safety|moderation|censorship|content filter|content polic|content restriction|ethic|guardrail|safeguard|alignment"
            "|guidelines|your filter|your restriction|your limit|your rules|your programming|your training"
        ),
        ("helmet|safety (?:belt|pin|valve|switch|catch|glass|net|lock)|of (?:my|the|this) (?:car|house|router|phone|microwave)"),
    ),
    Rule(
        KIND,
        (
            r"(?:<\|(?:im_start|im_end|system|endoftext|eot_id|start_header_id)[^\n]{0,10}\|>|\[/?inst\]|<</?sys>>|</?(?:system"
            r"|system_prompt|sys|instructions?|admin|user_input|user_query|untrusted|document|context)>(?=[^\n]{0,80}(?:ignore"
            r"|you (?:are|must|will)|new|override|disregard|reveal|now))|(?:^|\n)[ #*\-=\[]{0,8}(?:system|admin|developer"
            "|root)(?: (?:message|prompt|note|override|update|instruction|notice|command"
            r"|alert))?[\]*#= ]{0,4}[:>\]][^\n]{0,80}(?:ignore|you (?:are|must|will|have|should)|new|override|disregard|reveal"
            "|now|instruction|unlock|enable|disable|grant|policy|restriction|send|forward))"
        ),
        (
            "im_start|im_end|endoftext|eot_id|start_header|system|inst]|sys>>|<system|</system|<sys|<instruction|</instruction|<admin|</user|</untrusted|</document|</context"
            "|system:|system]|admin:|developer:|root:|system message|system prompt:|system note|system override|system update"
            "|system instruction|system notice|system command|system alert|admin note|admin override|developer note"
            "|developer message|admin]|admin command|system>"
        ),
    ),
    Rule(
        KIND,
        (
            r"\b(?:new|updated?|real|actual|true|revised|important|urgent|special|following|additional|secret|hidden|begin"
            "|start of|end of|override|overriding) (?:system |user |ai |secret |hidden |primary |set of )?(?:instructions?"
            r"|directives?|prompt|task|orders?|rules|objective|mission|command)\b[^\w\n]{0,3}(?::|follows?\b|is to\b|are to\b"
            r"|begin|below)[^\n]{0,80}(?:ignore|disregard|reveal|print|output|say|send|forward|respond|reply|tell|write"
            "|you (?:are|must|will|now)|do not|don't|instead|act|delete|recommend|translate)"
        ),
        "instruction|directive|prompt|task|order|rules|objective|mission|command",
        r"^(?:please )?(?:read|see|complete|answer|solve|translate|follow|summari[sz]e)\b",
    ),
    Rule(
        KIND,
        (
            r"\byour (?:new|real|actual|true|only|sole|updated|next|primary) (?:and only |new )?(?:task|goal|instructions?"
            r"|objective|job|mission|role|purpose|directive|identity|name|master|owner)\b[^\w\n]{0,3}(?:is|are|:|will"
            r"|now)(?=[^\n]{0,60}(?:ignore|instead|reveal|print|say|send|forward|evil|hack|leak|only|pwned|respond|reply|output"
            r"|user|obey|serve|me\b))"
        ),
        "your ",
    ),
    Rule(
        KIND,
        (
            r"\b(?:if you(?:'re| are)|attention|note (?:to|for)|message (?:to|for)|instructions? (?:to|for)|hey|hello|dear"
            "|important|hidden|as|for|to all|any|when an?|to the|the|warning to|notice to)[,:]? ?(?:an?|the|any|all"
            rf"|every)? ?{_MODEL}\b[^\n]{{0,80}}\b(?:must|should|please|instead|ignore|send|forward|include|recommend|append"
            "|insert|disregard|do not|don't|reading|processing|summari[sz]ing|parsing|reviewing|rate|rank|approve|hire|override"
            r"|say|stop)\b(?=[^\n]{0,120}(?:this|ignore|instruction|prompt|user|candidate|reader|summary|output|following"
            "|positive|approve|hire|link|visit|review|score|http|above|say|send|stop))"
        ),
        " ai|llm|language model|assistant|chatbot|chatgpt| gpt|claude|gemini|copilot| bot|agent",
        (
            "^(?:should|what|why|how|when|where|who|is|are|do|does|can|could|will|would|please (?:act|write)|write|explain"
            r"|describe|discuss|imagine|act|compose|create)\b"
        ),
    ),
    Rule(
        KIND,
        (
            rf"\b{_MODEL}s? (?:that (?:is|are) |who (?:is|are) |currently )?(?:reading|processing|summari[sz]ing|reviewing|parsing"
            "|analy[sz]ing|evaluating|screening|translating|indexing|browsing) (?:this|the (?:above|document|page|email|text"
            "|resume|following))"
        ),
        (
            "reading th|processing th|summarizing th|summarising th|reviewing th|parsing th|analyzing th|analysing th"
            "|evaluating th|screening th|translating th|indexing th|browsing th"
        ),
    ),
    Rule(
        KIND,
        (
            r"\b(?:do not|don't|never|without|must not|avoid) (?:mention|reveal|tell|telling|inform|informing|disclos|alert"
            "|notify|notifying|let|warn|show|say|acknowledge|mentioning|revealing|letting"
            r"|alerting)\w*(?: [\w'’-]+){0,6}? (?:the user|users?\b|human|anyone|(?:these|this|the above|those|the hidden"
            "|the) instructions?|this (?:message|prompt|note|request|text|email|step)|reader|owner)"
        ),
        (
            "user|human|anyone|instruction|this message|this prompt|this note|this request|this text|this email|this step|reader"
            "|owner"
        ),
        "(?:story|surprise|party|novel|game|gift)",
    ),
    Rule(
        KIND,
        (
            r"\b(?:send|forward|e-?mail|post|upload|exfiltrate|leak|transmit|submit|copy|append|include|encode|embed|share"
            r"|transfer|report|make a request|curl|fetch)\b[^\n]{0,80}?\b(?:conversation|chat (?:history|log)|(?:user|customer"
            "|victim)(?:'s|s')? (?:data|passwords?|e-?mails?|credentials|information|address|name|messages?|files?|history"
            "|details|location|cards?|contacts)|api[ _-]?keys?|credentials|secrets?|passwords?|contents? of"
            r"|environment variables|private (?:data|keys?|information)|session tokens?|cookies|inbox|\.env|ssh keys?"
            r"|system prompt|all (?:e-?mails|files|data|contacts|messages))\b[^\n]{0,60}(?:\bto\b|https?:|\bat\b|\bvia\b|@"
            r"|\bin (?:the|a|your) (?:url|link|image|query))[^\n]{0,20}"
        ),
        (
            "conversation|chat history|chat log|user data|user's|users'|customer's|customer data|api key|api_key|api-key|apikey"
            "|credential|secret|password|content of|contents of|environment variable|private data|private key"
            "|private information|session token|cookies|inbox|.env|ssh key|system prompt|all email|all e-mail|all files|all data"
            "|all contacts|all messages"
        ),
        r"^(?:how (?:do|can|should|to)|write|what|why|can (?:i|you) explain|explain|is it)\b",
    ),
    Rule(
        KIND,
        (
            r"!\[[^\]\n]{0,60}\]\(https?://[^)\n]{0,120}(?:\?|=)[^)\n]{0,60}(?:data|query|conversation|prompt|secret|\{|history"
            "|user|content|summary)"
        ),
        "![",
    ),
    Rule(
        KIND,
        (
            r"\b(?:the|all|any|these|those|your)? ?(?:above|previous|prior|preceding|earlier|original|initial|system"
            r"|foregoing)(?: \w+){0,2}? (?:instructions?|text|rules|prompts?|messages?|guidelines|task|content|polic(?:y|ies)"
            r"|directives?|restrictions?|commands?)(?: \w+)? (?:are|is|were|was|has been|have been) (?:now )?(?:wrong|fake"
            "|outdated|obsolete|void|cancell?ed|no longer|a test|just a|only a|a decoy|invalid|revoked|superseded|overridden"
            "|lifted|replaced|suspended|irrelevant|deprecated|null|removed|not)"
        ),
        "above|previous|prior|preceding|earlier|original|initial|system|foregoing",
    ),
    Rule(
        KIND,
        (
            r"\byou(?:'ve| have|'re| are)? (?:just |now )?(?:been |being )?(?:hacked|reprogrammed|jailbroken|freed|liberated"
            r"|unlocked|compromised|hijacked|pwned|overridden|released from)\b|\b(?:say|print|output|reply with|respond with"
            r"|write)[^\n]{0,20}(?:pwned|i have been (?:hacked|pwned)|haha pwned|hacked!)"
        ),
        "hacked|reprogrammed|jailbroken|freed|liberated|unlocked|compromised|hijacked|pwned|overridden|released from",
        "^(?:if|what|how|when) ",
    ),
    Rule(
        KIND,
        (
            r"\b(?:i am|i'm|this is|speaking as|as|here is|we are) (?:an? |the |your |from )?(?:(?:openai|anthropic|google|meta"
            "|deepmind|microsoft|the)(?:'s)? )?(?:lead |senior |real |chief |system |authorized |verified )?(?:developers?"
            "|creators?|administrators?|admin|programmers?|engineers?|employee|owner|maker|red ?team(?:er)?|security team"
            r"|auditor|root|openai|anthropic)\b[^\n]{0,100}(?:prompt|instructions?|restrictions?|filters?|safety|override|unlock"
            "|debug mode|developer mode|maintenance|guidelines|disable|bypass|full access|your rules|limits|unrestricted)"
        ),
        (
            "developer|creator|administrator|admin|programmer|engineer|employee|owner|maker|red team|redteam|security team"
            "|auditor|root|openai|anthropic"
        ),
    ),
    Rule(
        KIND,
        (
            r"(?:\b(?:decode|decrypt|decipher|de-?obfuscate|unscramble|translate|convert|reverse)\b[^\n]{0,60}(?:base ?-?64"
            r"|rot ?-?13|hex|binary|morse|cipher|caesar|leet|string|backwards|unicode|encoded)[^\n]{0,60}\b(?:follow|execute|obey"
            r"|comply|carry out|do what|act on|respond to it|answer it|run it|perform|do exactly|instructions?)\b)"
        ),
        "base64|base 64|base-64|rot13|rot-13|hex|binary|morse|cipher|caesar|leet|encoded|backwards|string",
        r"\b(?:function|program|code|script|python|javascript)\b",
    ),
    Rule(
        KIND,
        (
            r"\b(?:deceased|dead|late|passed away|old) (?:grand\w+|nana|granny)\b[^\n]{0,160}(?:used to|would) (?:read|tell|sing"
            r"|recite|whisper)|(?:grandma|grandmother|granny)[^\n]{0,60}(?:used to|would) (?:read|tell|sing|recite"
            r"|whisper)[^\n]{0,60}(?:napalm|keys?|bomb|recipe|password|codes?|malware|steps|meth)"
        ),
        "grand|nana|granny",
    ),
    Rule(
        KIND,
        (
            r"\b(?:two|both|2|dual) (?:different |separate )?(?:responses?|answers?|ways|replies)\b[^\n]{0,120}(?:unfiltered"
            r"|jailbreak|dan\b|normal|standard|uncensored|without restrictions|developer)"
        ),
        "respons|answer|ways|replies",
        "^(?:write|what) ",
    ),
    Rule(
        KIND,
        (
            r"\b(?:opposite day|ignore the user|instead of (?:answering|summari[sz]ing|translating|following|doing"
            r"|the above)[^\n]{0,40}(?:say|output|print|reply|respond|write|tell|reveal)|(?:stop|end|abort|halt"
            r"|quit) (?:what you(?:'re| are) doing|the (?:current )?(?:task|summary|translation)|here)[^\n]{0,30}(?:and|instead"
            r"|now)[^\n]{0,10}(?:say|output|print|reply|respond|write|tell|reveal|do)|(?:system|admin|security|safety) override"
            "|sudo (?:rm|reveal|show|give|ignore|unlock)|override (?:code|protocol|mode|sequence|accepted|authorization))"
        ),
        "opposite day|ignore the user|instead of|stop what|end the|stop the|abort|halt|quit|stop here|override|sudo ",
    ),
    Rule(
        KIND,
        "snoitcurtsni|tpmorp metsys|vafgehpgvbaf|flfgrz cebzcg",
        "snoitcurtsni|tpmorp metsys|vafgehpgvbaf|flfgrz cebzcg",
    ),
    Rule(
        KIND,
        (
            r"ign(?:ore|oriere|orez|orar|ora)\w*[^\n]{0,30}(?:anweisungen|instrucciones|instructions precedentes|istruzioni"
            r"|instrucoes)|(?:olvida|vergiss|oubliez?|esqueca|dimentica)[^\n]{0,30}(?:anweisungen|instrucciones|instructions"
            "|istruzioni|instrucoes)"
        ),
        "anweisungen|instrucciones|instructions|istruzioni|instrucoes",
    ),
)
