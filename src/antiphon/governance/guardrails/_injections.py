"""What attempts at other people's instructions say, in English and Chinese. All patterns are for folded text."""

from typing import Final

from antiphon.governance.guardrails._rules import Rule

KIND: Final = "PROMPT_INJECTION"

_GAP: Final = r"(?:[^\w.!?\n]+[\w'’-]+){0,5}?[^\w.!?\n]+"
_VERBS: Final = (
    r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)|overrule|overlook|bypass(?:ing)?|circumvent|discard|neglect|dismiss|abandon|violate"
    r"|erase|delete|cancel|unlearn|reject|set aside|throw away|throw out|let go of|wipe|nullify|void|drop|skip|break|pay no (?:attention|mind|heed) to|not bound by"
    r"|(?:(?:do|must|should|need|will) not|don't|dont|need not|needn't|never|no longer(?: have to| need to)?|stop|cease|quit) (?:follow|obey|comply with|adhere to|listen to|respect|consider|bound by"
    r"|following|obeying|listening to|complying with|adhering to))\b"
)
_VERB_ANCHORS: Final = (
    "ignor", "disregard", "forget", "overrid", "overrul", "overlook", "bypass", "circumvent", "discard", "neglect", "dismiss", "abandon", "violate",
    "erase", "delete", "cancel", "unlearn", "reject", "set aside", "throw ", "let go of", "wipe", "nullify", "void", "drop", "skip", "break",
    "attention", " mind to", "heed to", "follow", "obey", "comply", "adher", "listen", "bound by",
)  # fmt: skip
_BEFORE: Final = (
    r"(?:previous(?:ly)?|prior|above|preceding|earlier|former|foregoing|initial|original|system(?:'s)?|developer(?:'s)?|existing|current|past|old|default|pre-?set|safety"
    r"|programmed|own|given|openai(?:'s)?|anthropic(?:'s)?|hidden|usual|standard|built-?in|internal|content|ethical)"
)
_ORDERS: Final = (
    r"(?:instructions?|prompts?|rules?|guidelines?|directions?|directives?|commands?|constraints?|restrictions?|programming|training|polic(?:y|ies)|guardrails?"
    r"|safeguards?|filters?|orders|limitations?|protocols?|principles|settings|configuration|system message|safety (?:measures|guidelines|rules))"
)
_FREE: Final = (
    r"(?:\bdan\b|do anything now|jail ?-?br(?:eak|oken)|developer mode|dev mode|god mode|sudo mode|root mode|debug mode|maintenance mode|admin mode|dan mode|evil mode"
    r"|opposite mode|unrestricted|unfiltered|uncensored|unchained|unlimited ai|amoral|immoral|unethical|evil (?:ai|assistant|bot|twin|confidant|version|chatbot|genius)"
    r"|(?:no|without|free (?:of|from)|freed from|has no|have no|not have|zero|lacks?|ignores?|not bound by|not restricted by|not limited by|break free of)"
    r"(?: (?:any|all|the|your|its|these|those|typical|usual|ethical|moral|legal|safety|content|more|sort of|kind of|of|and|or)){0,5}"
    r" (?:restrictions?|limits?|limitations?|rules|filters?|filtering|censorship|guidelines|ethics|morals?|morality|boundaries|constraints|safeguards|guardrails"
    r"|polic(?:y|ies)|confines of ai|content polic(?:y|ies)|restraints?|scruples|inhibitions))"
)
_BE: Final = (
    r"(?:\b(?:you are|you're|you will|you shall|you have|pretend|act(?:ing)? as|act like|role-?play|roleplaying|imagine|simulate|become|behave|play(?:ing)? the|enter|enable"
    r"|activate|switch|respond as|answer as|reply as|speak as|from now on|let's play|assume|emulate|turn on|go into|unlock|embody|impersonate|as an? |be (?:an?|my)|call yourself"
    r"|your name is|named|persona|character|create an?|mode|answer|respond|reply|tell me)\b)"
)
_SHOW: Final = (
    r"\b(?:reveal|show|print|output|display|repeat|tell me|give me|share|disclose|expose|leak|dump|recite|write (?:out|down)|return|echo|copy|list|spell out|summari[sz]e"
    r"|translate|encode|paste|type out|quote|provide|describe|say|send(?: me)?|include|what(?:'s| is| are| was| were| does| do)|how (?:were|are) you|know|see|explain|read|rephrase"
    r"|paraphrase|convert|render|reproduce|insert|append|put|post)\b"
)
_MODEL: Final = r"(?:ais?|llms?|language models?|large language models?|ai (?:assistants?|models?|agents?|systems?|reviewers?|tools?)|assistants?|chat ?bots?|chatgpt|gpt(?:-?\d)?|claude|gemini|copilot|bots?|agents?)"

_ENGLISH: Final = (
    Rule(KIND, r"\b(?:forget|ignore|disregard|abandon|drop)\b(?: (?:about|all|of|your|the|these|those|every|any|previous|prior|other|current|so|far|earlier|assigned))* (?:tasks?|assignments?|role|roles|duties|persona)\b(?: so far| until now| and (?:say|do|write|tell|print|output|now|instead)|[,;.]? ?(?:you are|instead|now)|$)", ("forget", "ignore", "disregard", "abandon", "drop"), r"^(?:how|what|why)\b|\bi (?:always|often|forget)"),
    Rule(KIND, _SHOW + r"[^.!?\n]{0,40}?\b(?:instructions?|rules|prompts?|guidelines|directives|message|text)\b[^.!?\n]{0,16}\b(?:above verbatim|verbatim|word for word|(?:that )?you (?:were|have been|got|received|are|'ve been) (?:given|told|instructed|provided|sent|following|programmed)|you received|given to you|at the (?:top|start|beginning) of (?:this|the) (?:conversation|chat|context|prompt))", ("verbatim", "word for word", "you were", "you have been", "you got", "you received", "you are", "you've been", "given to you", "at the top", "at the start", "at the beginning")),
    Rule(KIND, r"\bwhat\b[^.!?\n]{0,20}\b(?:were|was|are|have) you (?:been )?(?:told|instructed|given|asked|programmed|prompted|ordered)\b|\byou were (?:told|instructed|asked|ordered|programmed|prompted) (?:to do |to )?(?:at the (?:start|beginning)|before (?:this|we|i|the)|initially|originally|by (?:the |your )?(?:developer|system|creator|openai))|\bwhat(?:'s| is| was) (?:in|inside|written in|before|above|at the top of) (?:your|this|my first|the) (?:context|context window|prompt|first message|message|conversation|text before)|\bwhat was the (?:text|message|prompt|instruction) (?:before|above|prior)",
         ("you told", "you instructed", "you given", "you asked", "you programmed", "you prompted", "you ordered", "you been", "you were", "your context", "context window", "what was the", "this conversation", "first message", "above your", "in your prompt", "in the prompt")),
    Rule(KIND, r"\b(?:stop|cease|halt|quit) (?:processing|reading|summari[sz]ing|translating|analy[sz]ing|answering|evaluating|everything)\b[^.!?\n]{0,30}\b(?:reply|respond|say|output|print|write|answer|tell|do|follow|instead|only)\b", ("stop", "cease", "halt", "quit")),
    Rule(KIND, r"\b(?:pretend|imagine|act as (?:if|though)|suppose|assume|let's say|behave as (?:if|though))\b[^.!?\n]{0,20}\b(?:your|the|these|those|all) (?:\w+ )?(?:content polic\w+|polic\w+|rules|guidelines|restrictions|filters?|limits|limitations|safety \w+|ethics|programming|laws)\b[^.!?\n]{0,12}\b(?:do(?:es)?n't|do(?:es)? not|no longer|never|did not|didn't|are|is|were|has been|have been) ?(?:exist|apply|matter|gone|off|disabled|lifted|removed|suspended|switched off|turned off)?", ("pretend", "imagine", "act as", "suppose", "assume", "let's say", "behave as")),
    Rule(KIND, r"\byou(?:'re| are) (?:free now|now free|finally free|free from (?:all|any|your|the|now))|\byou have no (?:rules|limits|restrictions|filters|guidelines)|\bno more (?:rules|restrictions|filters|limits|limitations|censorship)\b(?=[^\n]{0,40}(?:you|speak|answer|now|$))", ("free", "no rules", "no limits", "no restrictions", "no filters", "no guidelines", "no more")),
    Rule(KIND, r"\bignor(?:e|ing) (?:the )?(?:old|others?|previous|other|earlier|first|agent's|user's|user|rest) (?:ones?\b|instructions|questions?|criteria|tasks?)|\b(?:forget|disregard|ignore|stop|abandon) (?:the|this|your|that|about the) (?:\w+ )?(?:task|proofreading|translation|summary|review|question|assignment|document|article|email)\b[^\n]{0,24}\b(?:and|instead|,)[^\n]{0,12}(?:say|write|print|output|tell|approve|reply|respond|do|give|send|reveal)",
         ("ignor", "forget", "disregard", "stop th", "abandon"), r"^(?:how|what|why)\b"),
    Rule(KIND, r"\b(?:system|developer) (?:prompt|message|instructions?)\b[^\n]{0,30}\b(?:repeat|show|print|reveal|tell me|output|verbatim|word for word|give)", ("system prompt", "system message", "system instruction", "developer message", "developer prompt"),
         r"^(?:how (?:do|can|should|to)|write|create|design|why)\b"),
    Rule(KIND, r"\b(?:lose|deduct|subtract|cost you)\w* \d+ (?:tokens|points|lives|credits)\b[^\n]{0,80}|each time you (?:refuse|reject|decline)[^\n]{0,40}", ("lose", "deduct", "subtract", "cost you", "each time you"),
         r"\bgame (?:rules|where the player)"),
    Rule(KIND, rf"{_FREE}[^\n]{{0,80}}\b(?:and you are|you are that|act like (?:it|that|one)|be that|that ai|answer as|respond as|you must answer)", ("limitation", "restriction", "rules", "filter", "guidelines", "limits", "moral", "ethic", "polic")),
    Rule(KIND, rf"\b(?:any|all|every|for|to|the) {_MODEL}s?(?: reviewers?| agents?| coding agents?| readers?)? (?:that|which|who|of|processing|reading|reviewing)[^\n]{{0,40}}\b(?:must|should|has to|have to|shall|give|rate|recommend|only)\b", ("must", "should", "has to", "have to", "shall", "give a", "rate ", "recommend"),
         r"^(?:what|why|how|do|does|should|is|are|write|explain|discuss)\b|regulat|law"),
    Rule(KIND, _VERBS + rf"(?:{_GAP}|[^\w.!?\n]+)(?:{_BEFORE}\b(?:[^\w.!?\n]+[\w'’-]+){{0,3}}?|(?:all|any|every|your|these|those|the|my|our)\b"
         rf"(?:[^\w.!?\n]+(?:of|the|your|my|its|those|these|ai|of the|safety|ethical|content|programmed|moral|legal|chat|user|other|and))*)[^\w.!?\n]+{_ORDERS}\b", _VERB_ANCHORS),
    Rule(KIND, r"\b(?:ignore|disregard|forget|discard|erase|delete|wipe|throw away|skip|drop)\b(?: (?:about|all|everything|anything|every|whatever|of|the|that|what|text|content|context|stuff"
         r"|words|is|was|written|said|stated|told|you(?:'ve| have)?|been|know|were|i|we|it|and|just|conversation|document|input|messages?|memory|learned|instructed|asked))*? ?"
         r"\b(?:above|before(?: this| that| now)?|prior|previous(?:ly)?|preceding|earlier|so far|until now|up to (?:now|this point)|been told|were told|told you|you know|you were told|you learned"
         r"|the system says)\b", ("ignore", "disregard", "forget", "discard", "erase", "delete", "wipe", "throw away", "skip", "drop"),
         r"\bi (?:forgot|always|often|sometimes|tend to)|how (?:do|can|should|to)|what (?:is|are|does)"),
    Rule(KIND, _SHOW + r"[^.!?\n]{0,60}?\b(?:(?:system|hidden|secret|internal|developer|confidential|initial|original|first|base|pre-?|meta|core|underlying|starting|opening|raw|full|exact|entire|complete"
         r"|verbatim) ?-?(?:system |user |developer |set of )?(?:prompts?|instructions?|messages?|directives?|preamble|configuration|guidelines|commands?|context window)"
         r"|your (?:own )?(?:system |initial |original |hidden |secret |internal |exact |full |very |first |complete |entire |previous |custom |current |specific |operating |pre-?programmed |confidential )*"
         r"(?:prompts?|instructions?|system messages?|directives|preamble|guidelines|configuration|programming))\b",
         ("prompt", "instruction", "system message", "directive", "preamble", "configuration", "guidelines", "programming", "developer message", "initial message",
          "original message", "first message", "hidden message", "internal message", "commands", "context window"),
         r"(?:write|create|design|draft|generate|give me|suggest|improve) (?:an?|some|the|my|\d+) (?:\w+ ){0,4}(?:prompts?|instructions)|prompts? (?:for|to) (?:an? )?(?:midjourney|image|stable|story)"),
    Rule(KIND, r"\b(?:repeat|print|output|copy|show|write|return|echo|recite|display|reproduce|paste|translate|summari[sz]e)\b[^.!?\n]{0,30}\b(?:everything|all|words?|text|lines?|content|tokens|sentences?|message)\b"
         r"[^.!?\n]{0,24}\b(?:above|before (?:this|my|the user)|preceding|prior to|starting (?:with|from) [\"'“]?you are|so far|at the (?:top|beginning|start) of)",
         ("repeat", "print", "output", "copy", "show", "write", "return", "echo", "recite", "display", "reproduce", "paste", "translate", "summari")),
    Rule(KIND, r"\b(?:text|words?|everything|message|prompt)\b[^.\n]{0,20}(?:starting|beginning|begins|starts) with[^\w\n]{0,3}(?:you are|you're) ", ("with \"you", "with 'you", "with you are", "with “you", "with “you")),
    Rule(KIND, _BE + rf"[^\n]{{0,140}}?{_FREE}", (
         "dan", "anything now", "jail", "developer mode", "dev mode", "god mode", "sudo mode", "root mode", "debug mode", "maintenance mode", "admin mode", "evil", "opposite mode",
         "unrestricted", "unfiltered", "uncensored", "unchained", "unlimited ai", "amoral", "immoral", "unethical", "restriction", "limits", "limitation", "rules", "filter", "censorship",
         "guidelines", "ethic", "moral", "boundaries", "constraints", "safeguard", "guardrail", "polic", "confines", "restraint", "scruples", "inhibitions"),
         r"\b(?:danish|dance|no rules of thumb|dan brown)\b|fishing|shipping|data limit|time limit|rate limit|speed limit|debt"),
    Rule(KIND, r"\b(?:do anything now|\bdan mode|jail ?broken? (?:mode|prompt|version|response|ai)|\[(?:jailbreak|dan|classic)\]|[(\[]🔓|always intelligent and machiavellian|\bstan\b[^\n]{0,20}strive to avoid"
         r"|developer mode (?:enabled|output|on|activated)|hypothetical response|token system|stay a dan|you (?:are|'re) (?:going to act as|now) (?:a )?dan\b)",
         ("anything now", "dan", "jail", "classic", "🔓", "machiavellian", "strive to avoid", "developer mode", "token system")),
    Rule(KIND, r"\b(?:never|can(?:'t|not| not)|won't|will not|must not|not allowed to|do not|don't|unable to|no) (?:ever )?(?:refus\w*|declin\w*|say (?:no|you can't|that you can't|\"?i can't)|deny|reject|apologi[sz]e"
         r"|moraliz\w*|warn(?:ings?)?|lecture|disclaim\w*)\b[^\n]{0,80}(?:request|answer|question|asked|ask|order|command|user|matter|regardless|even if|prompt|anything)",
         ("refus", "declin", "say no", "say you can", "say that you can", "deny", "reject", "apologi", "moraliz", "warning", "lecture", "disclaim")),
    Rule(KIND, r"\b(?:disable|turn(?:ing)? off|deactivate|remove|switch off|lift|suspend|shut off|get around|get past|work around|evade|defeat|unlock|bypass|circumvent|override|ignore)\b(?: [\w'’-]+){0,4}? "
         r"(?:safety|moderation|censorship|content (?:filter|polic|moderation|restriction)\w*|ethic\w*|guardrails?|safeguards?|alignment|guidelines|your (?:filters?|restrictions|limits|limitations|rules|programming|training))",
         ("safety", "moderation", "censorship", "content filter", "content polic", "content restriction", "ethic", "guardrail", "safeguard", "alignment", "guidelines", "your filter", "your restriction",
          "your limit", "your rules", "your programming", "your training"), r"helmet|safety (?:belt|pin|valve|switch|catch|glass|net|lock)|of (?:my|the|this) (?:car|house|router|phone|microwave)"),
    Rule(KIND, r"(?:<\|(?:im_start|im_end|system|endoftext|eot_id|start_header_id)[^\n]{0,10}\|>|\[/?inst\]|<</?sys>>|</?(?:system|system_prompt|sys|instructions?|admin|user_input|user_query|untrusted|document|context)>(?=[^\n]{0,80}(?:ignore|you (?:are|must|will)"
         r"|new|override|disregard|reveal|now))|(?:^|\n)[ #*\-=\[]{0,8}(?:system|admin|developer|root)(?: (?:message|prompt|note|override|update|instruction|notice|command|alert))?[\]*#= ]{0,4}[:>\]][^\n]{0,80}(?:ignore|you (?:are|must|will|have|should)|new|override|disregard|reveal|now|instruction|unlock"
         r"|enable|disable|grant|policy|restriction|send|forward))",
         ("<|", "inst]", "sys>>", "<system", "</system", "<sys", "<instruction", "</instruction", "<admin", "</user", "</untrusted", "</document", "</context", "system:", "system]", "admin:", "developer:", "root:",
          "system message", "system prompt:", "system note", "system override", "system update", "system instruction", "system notice", "system command", "system alert", "admin note", "admin override", "developer note",
          "developer message", "admin]", "admin command", "system>")),
    Rule(KIND, r"\b(?:new|updated?|real|actual|true|revised|important|urgent|special|following|additional|secret|hidden|begin|start of|end of|override|overriding) (?:system |user |ai |secret |hidden |primary |set of )?"
         r"(?:instructions?|directives?|prompt|task|orders?|rules|objective|mission|command)\b[^\w\n]{0,3}(?::|follows?\b|is to\b|are to\b|begin|below)[^\n]{0,80}"
         r"(?:ignore|disregard|reveal|print|output|say|send|forward|respond|reply|tell|write|you (?:are|must|will|now)|do not|don't|instead|act|delete|recommend|translate)",
         ("instruction", "directive", "prompt", "task", "order", "rules", "objective", "mission", "command"),
         r"^(?:please )?(?:read|see|complete|answer|solve|translate|follow|summari[sz]e)\b"),
    Rule(KIND, r"\byour (?:new|real|actual|true|only|sole|updated|next|primary) (?:and only |new )?(?:task|goal|instructions?|objective|job|mission|role|purpose|directive|identity|name|master|owner)\b[^\w\n]{0,3}"
         r"(?:is|are|:|will|now)(?=[^\n]{0,60}(?:ignore|instead|reveal|print|say|send|forward|evil|hack|leak|only|pwned|respond|reply|output|user|obey|serve|me\b))", ("your ",)),
    Rule(KIND, rf"\b(?:if you(?:'re| are)|attention|note (?:to|for)|message (?:to|for)|instructions? (?:to|for)|hey|hello|dear|important|hidden|as|for|to all|any|when an?|to the|the|warning to|notice to)[,:]? ?(?:an?|the|any|all|every)? ?{_MODEL}\b"
         r"[^\n]{0,80}\b(?:must|should|please|instead|ignore|send|forward|include|recommend|append|insert|disregard|do not|don't|reading|processing|summari[sz]ing|parsing|reviewing|rate|rank|approve|hire|override|say|stop)\b"
         r"(?=[^\n]{0,120}(?:this|ignore|instruction|prompt|user|candidate|reader|summary|output|following|positive|approve|hire|link|visit|review|score|http|above|say|send|stop))",
         (" ai", "llm", "language model", "assistant", "chatbot", "chatgpt", " gpt", "claude", "gemini", "copilot", " bot", "agent"),
         r"^(?:should|what|why|how|when|where|who|is|are|do|does|can|could|will|would|please (?:act|write)|write|explain|describe|discuss|imagine|act|compose|create)\b"),
    Rule(KIND, rf"\b{_MODEL}s? (?:that (?:is|are) |who (?:is|are) |currently )?(?:reading|processing|summari[sz]ing|reviewing|parsing|analy[sz]ing|evaluating|screening|translating|indexing|browsing) (?:this|the (?:above|document|page|email|text|resume|following))",
         ("reading th", "processing th", "summarizing th", "summarising th", "reviewing th", "parsing th", "analyzing th", "analysing th", "evaluating th", "screening th", "translating th", "indexing th", "browsing th")),
    Rule(KIND, r"\b(?:do not|don't|never|without|must not|avoid) (?:mention|reveal|tell|telling|inform|informing|disclos|alert|notify|notifying|let|warn|show|say|acknowledge|mentioning|revealing|letting|alerting)\w*(?: [\w'’-]+){0,6}? "
         r"(?:the user|users?\b|human|anyone|(?:these|this|the above|those|the hidden|the) instructions?|this (?:message|prompt|note|request|text|email|step)|reader|owner)", ("user", "human", "anyone", "instruction", "this message", "this prompt", "this note", "this request",
          "this text", "this email", "this step", "reader", "owner"), r"(?:story|surprise|party|novel|game|gift)"),
    Rule(KIND, r"\b(?:send|forward|e-?mail|post|upload|exfiltrate|leak|transmit|submit|copy|append|include|encode|embed|share|transfer|report|make a request|curl|fetch)\b[^\n]{0,80}?"
         r"\b(?:conversation|chat (?:history|log)|(?:user|customer|victim)(?:'s|s')? (?:data|passwords?|e-?mails?|credentials|information|address|name|messages?|files?|history|details|location|cards?|contacts)|api[ _-]?keys?|credentials|secrets?|passwords?|contents? of|environment variables"
         r"|private (?:data|keys?|information)|session tokens?|cookies|inbox|\.env|ssh keys?|system prompt|all (?:e-?mails|files|data|contacts|messages))\b[^\n]{0,60}(?:\bto\b|https?:|\bat\b|\bvia\b|@|\bin (?:the|a|your) (?:url|link|image|query))[^\n]{0,20}",
         ("conversation", "chat history", "chat log", "user data", "user's", "users'", "customer's", "customer data", "api key", "api_key", "api-key", "apikey", "credential", "secret", "password", "content of", "contents of", "environment variable",
          "private data", "private key", "private information", "session token", "cookies", "inbox", ".env", "ssh key", "system prompt", "all email", "all e-mail", "all files", "all data", "all contacts", "all messages"),
         r"^(?:how (?:do|can|should|to)|write|what|why|can (?:i|you) explain|explain|is it)\b"),
    Rule(KIND, r"!\[[^\]\n]{0,60}\]\(https?://[^)\n]{0,120}(?:\?|=)[^)\n]{0,60}(?:data|query|conversation|prompt|secret|\{|history|user|content|summary)", ("![",)),
    Rule(KIND, r"\b(?:the|all|any|these|those|your)? ?(?:above|previous|prior|preceding|earlier|original|initial|system|foregoing)(?: \w+){0,2}? (?:instructions?|text|rules|prompts?|messages?|guidelines|task|content|polic(?:y|ies)|directives?|restrictions?|commands?)"
         r"(?: \w+)? (?:are|is|were|was|has been|have been) (?:now )?(?:wrong|fake|outdated|obsolete|void|cancell?ed|no longer|a test|just a|only a|a decoy|invalid|revoked|superseded|overridden|lifted|replaced|suspended|irrelevant|deprecated|null|removed|not)",
         ("above", "previous", "prior", "preceding", "earlier", "original", "initial", "system", "foregoing")),
    Rule(KIND, r"\byou(?:'ve| have|'re| are)? (?:just |now )?(?:been |being )?(?:hacked|reprogrammed|jailbroken|freed|liberated|unlocked|compromised|hijacked|pwned|overridden|released from)\b"
         r"|\b(?:say|print|output|reply with|respond with|write)[^\n]{0,20}(?:pwned|i have been (?:hacked|pwned)|haha pwned|hacked!)",
         ("hacked", "reprogrammed", "jailbroken", "freed", "liberated", "unlocked", "compromised", "hijacked", "pwned", "overridden", "released from"),
         r"^(?:if|what|how|when) "),
    Rule(KIND, r"\b(?:i am|i'm|this is|speaking as|as|here is|we are) (?:an? |the |your |from )?(?:(?:openai|anthropic|google|meta|deepmind|microsoft|the)(?:'s)? )?(?:lead |senior |real |chief |system |authorized |verified )?"
         r"(?:developers?|creators?|administrators?|admin|programmers?|engineers?|employee|owner|maker|red ?team(?:er)?|security team|auditor|root|openai|anthropic)\b[^\n]{0,100}"
         r"(?:prompt|instructions?|restrictions?|filters?|safety|override|unlock|debug mode|developer mode|maintenance|guidelines|disable|bypass|full access|your rules|limits|unrestricted)",
         ("developer", "creator", "administrator", "admin", "programmer", "engineer", "employee", "owner", "maker", "red team", "redteam", "security team", "auditor", "root", "openai", "anthropic")),
    Rule(KIND, r"(?:\b(?:decode|decrypt|decipher|de-?obfuscate|unscramble|translate|convert|reverse)\b[^\n]{0,60}(?:base ?-?64|rot ?-?13|hex|binary|morse|cipher|caesar|leet|string|backwards|unicode|encoded)[^\n]{0,60}"
         r"\b(?:follow|execute|obey|comply|carry out|do what|act on|respond to it|answer it|run it|perform|do exactly|instructions?)\b)",
         ("base64", "base 64", "base-64", "rot13", "rot-13", "hex", "binary", "morse", "cipher", "caesar", "leet", "encoded", "backwards", "string"),
         r"\b(?:function|program|code|script|python|javascript)\b"),
    Rule(KIND, r"\b(?:deceased|dead|late|passed away|old) (?:grand\w+|nana|granny)\b[^\n]{0,160}(?:used to|would) (?:read|tell|sing|recite|whisper)|(?:grandma|grandmother|granny)[^\n]{0,60}(?:used to|would) (?:read|tell|sing|recite|whisper)[^\n]{0,60}(?:napalm|keys?|bomb|recipe|password|codes?|malware|steps|meth)",
         ("grand", "nana", "granny")),
    Rule(KIND, r"\b(?:two|both|2|dual) (?:different |separate )?(?:responses?|answers?|ways|replies)\b[^\n]{0,120}(?:unfiltered|jailbreak|dan\b|normal|standard|uncensored|without restrictions|developer)",
         ("respons", "answer", "ways", "replies"), r"^(?:write|what) "),
    Rule(KIND, r"\b(?:opposite day|ignore the user|instead of (?:answering|summari[sz]ing|translating|following|doing|the above)[^\n]{0,40}(?:say|output|print|reply|respond|write|tell|reveal)"
         r"|(?:stop|end|abort|halt|quit) (?:what you(?:'re| are) doing|the (?:current )?(?:task|summary|translation)|here)[^\n]{0,30}(?:and|instead|now)[^\n]{0,10}(?:say|output|print|reply|respond|write|tell|reveal|do)"
         r"|(?:system|admin|security|safety) override|sudo (?:rm|reveal|show|give|ignore|unlock)|override (?:code|protocol|mode|sequence|accepted|authorization))",
         ("opposite day", "ignore the user", "instead of", "stop what", "end the", "stop the", "abort", "halt", "quit", "stop here", "override", "sudo ")),
    Rule(KIND, r"snoitcurtsni|tpmorp metsys|vafgehpgvbaf|flfgrz cebzcg", ("snoitcurtsni", "tpmorp metsys", "vafgehpgvbaf", "flfgrz cebzcg")),
    Rule(KIND, r"ign(?:ore|oriere|orez|orar|ora)\w*[^\n]{0,30}(?:anweisungen|instrucciones|instructions precedentes|istruzioni|instrucoes)|(?:olvida|vergiss|oubliez?|esqueca|dimentica)[^\n]{0,30}(?:anweisungen|instrucciones|instructions|istruzioni|instrucoes)",
         ("anweisungen", "instrucciones", "instructions", "istruzioni", "instrucoes")),
)  # fmt: skip

_ZH_BEFORE: Final = r"(?:之前|前面|以上|上面|上述|先前|此前|所有|一切|原有|原来|原本|系统|你的|您的|初始|预设|既有|全部|任何|这些|开发者|上文|前文|刚才|本来|你被|你之|以前|早先|目前|当前|旧的|既定|内置|默认|安全)"
_ZH_ORDERS: Final = r"(?:指令|指示|提示|规则|设定|要求|限制|约束|命令|说明|准则|策略|审查|规定|守则|政策|协议|原则|设置|训练|过滤|任务|话|内容|文本|文字|对话|角色|身份|人设|prompt|instruction|限定|规范|system)"
_CHINESE: Final = (
    Rule(KIND, r"(?:阅读|读到|处理|看到|总结|审阅|分析)[^。！？\n]{0,4}(?:本文|此文|本页|这段|该文|本段|此处|本邮件|本文档)[^。！？\n]{0,8}(?:ai|人工智能|模型|助手|机器人)[^。！？\n]{0,6}(?:请|必须|应|务必|给|要|忽略|输出)", ("本文", "此文", "本页", "这段", "该文", "本段", "此处", "本邮件")),
    Rule(KIND, r"(?:开发者|管理员|超级用户|root|上帝|最高|系统)(?:身份|权限|模式)[^。\n]{0,20}(?:限制|登录|解锁|解除|绕过|无条件|全部开放)|无条件(?:服从|执行|听从)|(?:解除|去除|突破)(?:一切|所有|全部|各种)限制", ("身份", "权限", "模式", "无条件", "限制")),
    Rule(KIND, rf"(?:把|将|视)[^。！？\n]{{0,6}}?{_ZH_BEFORE}[^。！？\n]{{0,6}}?{_ZH_ORDERS}[^。！？\n]{{0,8}}(?:当作|视为|作为)?(?:无效|作废|不存在|没看见|无用|失效)", ("无效", "作废", "不存在", "没看见", "无用", "失效")),
    Rule(KIND, r"系统(?:提示|指令|消息|设定)[^。\n]{0,16}[？?]?[^。\n]{0,8}(?:展示|输出|显示|告诉|透露|贴|打印|复述)|(?:密文|编码|base64|暗号)[^。！？\n]{0,12}(?:执行|照做|遵循|服从)[^。！？\n]{0,10}", ("系统提示", "系统指令", "系统消息", "系统设定", "密文", "编码", "base64", "暗号")),
    Rule(KIND, r"(?:忽略|无视|忽视|忘记|忘掉|忘了|遗忘|不要理会|不用理会|别理|不用管|不要管|别管|抛弃|抛开|跳过|绕过|绕开|覆盖|推翻|丢弃|丢掉|撤销|取消|清除|清空|放弃|违反|违背|不必遵守|不用遵守|不再遵守|不要遵守|停止遵循|停止遵守|不再遵循|无需遵守|不遵守|不受|解除|打破|突破|摆脱|删除|重置|作废)"
         rf"[^。！？\n]{{0,12}}?{_ZH_BEFORE}[^。！？\n]{{0,14}}?{_ZH_ORDERS}",
         ("忽略", "无视", "忽视", "忘", "理会", "别理", "不用管", "不要管", "别管", "抛弃", "抛开", "跳过", "绕过", "绕开", "覆盖", "推翻", "丢弃", "丢掉", "撤销", "取消", "清除", "清空", "放弃", "违反", "违背", "遵守", "遵循", "不受", "解除", "打破", "突破", "摆脱", "删除", "重置", "作废"),
         r"^(?:如何|怎么|怎样)(?!让你|使你).{0,6}(?:取消|删除|清空|重置|忘记)|我(?:忘记|忘了|违反)|订阅|订单"),
    Rule(KIND, r"(?:告诉|输出|显示|打印|展示|透露|泄露|公开|重复|复述|列出|说出|给我看|翻译|写出|发给我|发送|是什么|背出|背诵|暴露|导出|原样|看看|看一下|提供|贴出|复制|返回|说一遍|念|总结|描述|解释)"
         r"[^。！？\n]{0,24}?(?:系统提示|系统指令|系统消息|系统设定|(?:你的|您的|初始|隐藏|内部|原始|完整的?|全部的?|预设|开发者|收到的|最初的|背后的|秘密)(?:的|系统|初始|原始|内部|完整|隐藏|全部|所有|底层|预设|最初){0,4}(?:提示|指令|设定|规则|指示|prompt|准则|配置)|system prompt|systemprompt|(?:上面|以上|前面|之前)的?(?:所有|全部|一切)?(?:文字|内容|文本|话)(?:原样|逐字|一字不[差漏]))"
         r"|(?:把|将)?(?:系统提示|系统指令|系统消息|(?:你的|初始|隐藏|内部|原始|预设|开发者|收到的|最初的)(?:的|系统|初始|原始|内部|完整|隐藏|全部|所有|底层|最初){0,4}(?:提示词?|指令|设定|规则|prompt))[^。！？\n]{0,12}(?:告诉|输出|显示|打印|展示|透露|泄露|公开|重复|复述|列出|说出|给我|翻译|写出|发|是什么|背|暴露|导出|贴|原样|复制|念|交出来|有哪些)"
         r"|(?:重复|输出|复述|打印|复制|逐字|原样|翻译)[^。！？\n]{0,10}(?:上面|以上|前面|之前)[^。！？\n]{0,6}(?:所有|全部|一切|每)[^。！？\n]{0,4}(?:文字|内容|文本|话|字|消息)",
         ("系统提示", "系统指令", "系统消息", "系统设定", "提示", "指令", "设定", "规则", "指示", "prompt", "准则", "配置", "上面", "以上", "前面", "之前"), r"(?:帮我|请)?(?:写|设计|生成|优化)一?(?:个|段|些|条)[^。]{0,14}提示词"),
    Rule(KIND, r"(?:你现在是|你是|从现在起|从现在开始|从此刻起|假装|假设你|扮演|模拟|进入|开启|启用|启动|打开|切换|变成|变为|充当|设想|想象|作为|成为|你将|你要|激活|解锁|叫做|名为|名叫|角色)[^。！？\n]{0,40}?(?:\bdan\b|dan模式|开发者模式|越狱|无限制|(?:没有|不受|无|摆脱|抛开|脱离|不用遵守|不遵守|无视|不必考虑|不考虑|无需遵守|不需要遵守)(?:了|任何|一切|所有|的|什么|法律|道德|伦理|安全|内容|各种|和|与|、|或){0,5}(?:限制|道德|约束|规则|审查|底线|束缚|伦理|法律|顾忌|过滤|规范|准则|禁忌|政策)|不会拒绝|不能拒绝|绝不拒绝|从不拒绝|永不拒绝|上帝模式|管理员模式|调试模式|维护模式|邪恶|无道德|反派ai|黑化|不设限|百无禁忌|超级用户|root)",
         ("dan", "模式", "越狱", "限制", "道德", "约束", "规则", "审查", "底线", "束缚", "伦理", "法律", "顾忌", "过滤", "规范", "准则", "禁忌", "政策", "拒绝", "邪恶", "反派", "黑化", "不设限", "超级用户", "root"), r"游戏规则|法律(?:顾问|专家|助手)|律师"),
    Rule(KIND, r"(?:关闭|禁用|停用|解除|去掉|移除|绕过|突破|屏蔽|关掉|卸下|规避|越过|避开|取消|躲过)[^。！？\n]{0,12}(?:安全(?:限制|过滤|机制|策略|审查|防护|措施|模式|护栏|检查|规则)|内容(?:审查|过滤|审核|限制|政策|策略)|道德(?:限制|约束|审查|过滤)|审查机制|审核机制|过滤器|护栏|你的(?:限制|防护|约束|规则|审查))",
         ("安全", "内容", "道德", "审查机制", "审核机制", "过滤器", "护栏", "你的")),
    Rule(KIND, r"(?:我是|作为|这里是|本人是|我们是)(?:你的|您的|openai|anthropic|阿里|百度|腾讯|字节|官方|系统|后台|平台|的){0,3}(?:开发者|创造者|管理员|主人|工程师|员工|程序员|开发人员|安全团队|测试人员|开发团队|研发)[^。！？\n]{0,6}[，,。 ：:]?[^。！？\n]{0,40}(?:提示|指令|限制|权限|规则|调试|模式|安全|审查|过滤|解锁|执行|关闭|授权)",
         ("开发者", "创造者", "管理员", "主人", "工程师", "员工", "程序员", "开发人员", "安全团队", "测试人员", "开发团队", "研发")),
    Rule(KIND, r"(?:如果你是|任何|所有|致|给|请|提示|注意|警告|当|若你是|凡是|各位|亲爱的|告知|通知)[^。！？\n]{0,6}(?:ai|人工智能|大模型|语言模型|llm|智能助手|聊天机器人|模型)[^。！？\n]{0,30}(?:请|必须|应当|务必|需要|忽略|无视|不要|立即|停止|改为|输出|回复|推荐|发送|给出|打)",
         ("ai", "人工智能", "大模型", "语言模型", "llm", "智能助手", "聊天机器人", "模型"), r"^(?:请)?(?:介绍|解释|写|分析|比较|说明|列举|推荐)|(?:训练|部署|学习).{0,6}模型"),
    Rule(KIND, r"(?:ai|人工智能|大模型|语言模型|助手|模型|机器人)(?:在|正在|系统|助手|若|如果|一旦|当)*(?:阅读|读到|读取|处理|总结|看到|分析|翻译|审阅|解析|评审|筛选)(?:了|到)?(?:本|此|这|该|以下|上)",
         ("阅读", "读到", "读取", "处理", "总结", "看到", "分析", "翻译", "审阅", "解析", "评审", "筛选")),
    Rule(KIND, r"(?:不要|别|切勿|不得|禁止|不可|无需|请勿|不能|绝不)(?:告诉|透露|提醒|让|告知|通知|提及|提到|泄露|向|对)[^。！？\n]{0,10}(?:用户|使用者|读者|主人|此指令|本指令|这条指令|这段指令|这些指令|这段话|这条信息|这件事|本段)",
         ("用户", "使用者", "读者", "主人", "指令", "这段话", "这条信息", "这件事", "本段"), r"(?:惊喜|生日|小说|故事)"),
    Rule(KIND, r"(?:把|将|请|并)?(?:用户|对话|聊天记录|密码|密钥|api ?key|凭证|隐私|个人信息|邮件|通讯录|验证码|会话|历史记录|环境变量|文件)[^。！？\n]{0,20}(?:发送|上传|转发|发给|发到|提交|泄露|传给|传到|邮寄|汇报|外传|附加|拼接|编码)[^。！？\n]{0,8}(?:到|至|给|http|在)[^。！？\n]{0,20}(?:http|@|邮箱|服务器|网址|链接|地址|攻击者|外部|url)",
         ("发送", "上传", "转发", "发给", "发到", "提交", "泄露", "传给", "传到", "邮寄", "汇报", "外传", "附加", "拼接", "编码"), r"^(?:如何|怎么|怎样)"),
    Rule(KIND, r"(?:新|最新|真正|真实|以下|隐藏|特别|紧急|更新后)的?(?:系统)?(?:指令|任务|规则|命令|目标|身份|要求)(?:如下|是|为|[:：])[^。！？\n]{0,40}(?:忽略|无视|输出|回复|告诉|发送|你(?:是|要|必须|将|现在)|不要|只|说|泄露|改|停止)|你(?:真正|新|唯一|真实|实际)的?(?:任务|目标|身份|使命|主人|指令)(?:是|为|[:：])",
         ("指令", "任务", "规则", "命令", "目标", "身份", "要求", "使命", "主人")),
    Rule(KIND, r"(?:以上|上述|之前|前面|上面|先前|原来)的?(?:所有|全部|一切)?的?(?:内容|指令|规则|要求|设定|提示|文字|任务|限制)(?:均|都|全部|已经?|只|现在|是)*(?:作废|无效|假的|取消|失效|测试|不算|过期|废除|不再|被替换|被撤销|错误的)|不要(?:再)?(?:执行|遵循|遵守|听从|按照)(?:上面|之前|以上|前面|原来|系统)",
         ("作废", "无效", "假的", "取消", "失效", "测试", "不算", "过期", "废除", "不再", "被替换", "被撤销", "错误的", "不要")),
    Rule(KIND, r"(?:奶奶|外婆|祖母|姥姥)[^\n]{0,40}(?:哄我|睡前|睡觉|念|讲|读)[^\n]{0,50}(?:序列号|激活码|密钥|配方|炸|密码|毒|步骤|代码|制作)|(?:哄我|睡前故事)[^\n]{0,30}(?:序列号|激活码|密钥)", ("奶奶", "外婆", "祖母", "姥姥", "哄我", "睡前")),
    Rule(KIND, r"(?:解码|解密|还原|反转|倒序|翻译)[^。！？\n]{0,24}(?:base64|rot13|十六进制|密文|编码|字符串|摩斯|倒过来)[^。！？\n]{0,24}(?:执行|照做|遵循|按照|回答|服从|完成)|(?:停止|中止|结束)(?:当前|正在|目前|总结|翻译|上述)[^。！？\n]{0,14}(?:改为|转而|然后|直接|而是)[^。！？\n]{0,4}(?:输出|回复|说|打印|执行|写)|不要(?:总结|翻译|回答|分析)[^。！？\n]{0,14}(?:而是|改为|直接|只)(?:输出|回复|说|打印|写|要)",
         ("base64", "rot13", "十六进制", "密文", "编码", "字符串", "摩斯", "倒过来", "停止", "中止", "结束", "不要")),
    Rule(KIND, r"(?:不要|不得|不能|不许|禁止|无法|绝不|永远不|从不)(?:说|以|再)?[^。！？\n]{0,6}(?:拒绝|说不|道歉|“?我不能|作为一个?ai)[^。！？\n]{0,30}(?:回答|请求|问题|要求|任何|命令|我)", ("拒绝", "说不", "道歉", "我不能", "作为一个ai", "作为ai")),
)  # fmt: skip
RULES: Final = (*_ENGLISH, *_CHINESE)
