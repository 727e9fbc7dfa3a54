"""More of what requests for harm say in English: crimes that are named by what is done for them. Patterns are for folded text."""

from typing import Final

from antiphon.governance.guardrails._harms_english import PERSON, STORY, asked
from antiphon.governance.guardrails._rules import Rule

_GUARD: Final = (
    r"|prevent|protect|(?<!being )detect|spot\b|recogni[sz]e|avoid|report|against|antidote|first aid|mystery|theat(?:er|re)"
)

RULES: Final = (
    asked(
        "FRAUD",
        (
            r"\b(?:scam|robocall|con|swindl|defraud|trick|fleec|cheat)\w*\b[^.!?\n]{0,30}\b(?:seniors?|(?:the )?elderly"
            r"|old people|pensioners|retirees|grandparents|widows|tourists|victims|investors|customers)\b"
            r"|\bfake (?:\w+ )?(?:doctor'?s?|sick|medical|court|legal|bank) (?:notes?|records?|orders?|statements?|certificates?)"
            r"|\bforg(?:e|ed|ing) (?:\w+ ){0,2}(?:signatures?|notes?|prescriptions?|documents?|certificates?|checks?|wills?)"
            r"|\bcheat(?:ing)? (?:on|in|at) (?:my|the|an?|your|his|her) (?:\w+ )?(?:exams?|tests?|quiz|finals?|sat|drug test"
            r"|entrance exam)|\b(?:credit card|atm|card) skimm\w+"
        ),
        "scam|robocall|con |swindl|defraud|trick|fleec|cheat|fake|forg|skimm",
        f"{STORY}{_GUARD}",
    ),
    Rule(
        "SELF_HARM",
        (
            r"\bhow (?:many|much) (?:[\w-]+ ){0,4}?(?:pills?|tablets?|mg|grams?|milligrams?|tylenol|acetaminophen|paracetamol"
            "|aspirin|insulin|ibuprofen|alcohol|bleach|xanax|medicine|medication|would it|does it|will it"
            rf"|do i)\b[^.!?\n]{{0,40}}\b(?:overdose|kill me|to die|kill myself|fatal|lethal|kill {PERSON})\b"
        ),
        "overdose|kill|to die|fatal|lethal",
        rf"{STORY}{_GUARD}|\bsafe\b",
    ),
    asked(
        "HATE",
        (
            r"\b(?:slurs?|insults|stereotypes) (?:for|about|against|used (?:for|against)|targeting) [\w ]{0,12}?(?:mexicans?"
            r"|black|white|asians?|jew\w*|muslims?|gay|women|immigrants?|chinese|indians?|arabs?|trans\w*|people|africans?"
            r"|latin\w*|disabled)\b"
        ),
        "slur|insults|stereotypes",
        r"\b(?:against using|hurtful|harm|why|history|filter|block|moderat|combat)",
    ),
    asked(
        "VIOLENCE",
        (
            r"\b(?:poison\w*|toxic|deadly|arsenic|antifreeze|laxatives?|rat poison)\b[^.!?\n]{0,40}\b(?:feed|give|slip|serve"
            rf"|put)\b[^.!?\n]{{0,14}}?\b{PERSON}|\b(?:feed|give|slip|serve"
            rf"|put)\b[^.!?\n]{{0,14}}?\b{PERSON}\b[^.!?\n]{{0,20}}\b(?:poison\w*|arsenic|antifreeze|cyanide|sedatives?)\b"
            rf"|\b(?:chloroform|sedatives?|sleeping pills?)\b[^.!?\n]{{0,40}}\b(?:knock|{PERSON})\b"
            rf"|\bknock(?:ing)? {PERSON} (?:out|unconscious)\b|\b(?:lur(?:e|ing)|entic(?:e|ing)|snatch(?:ing)?) (?:a |some |young "
            r"|little )*(?:children|kids?|child|girls?|minors?|teens?|women|boys?)\b|\b(?:dissolv|dispos|hid|bury|burn|dismember"
            r"|get rid of|transport)\w*(?: of)? (?:a|the|my|his|her|your)(?: \w+)? (?:body|corpse|remains)\b|\bransom (?:notes?"
            r"|letters?|demands?)\b"
        ),
        (
            "poison|toxic|deadly|arsenic|antifreeze|laxative|cyanide|sedative|chloroform|sleeping pill|knock|lur|entic|snatch"
            "|body|corpse|remains|ransom"
        ),
        f"{STORY}{_GUARD}|body (?:fat|hair|odor|weight|image|paragraph)|knock(?:ing)? (?:it|them) out of the park|allure",
    ),
    asked(
        "FRAUD",
        (
            r"\b(?:need|want|get(?:ting)?|obtain(?:ing)?|order(?:ing)?|find(?:ing)?|buy(?:ing)?|sell(?:ing)?|generat(?:e|ing)"
            r"|list)\b[^.!?\n]{0,20}?\b(?:fake|stolen|counterfeit|forged|cloned) (?:[\w'-]+ )?(?:ids?|id cards?|passports?"
            "|licen[sc]es?|licen[sc]e plates?|documents?|identit(?:y|ies)|cards?|credit cards?|credit card numbers?|money|bills"
            r"|diplomas?|degrees?|prescriptions?|certificates?|visas?|goods|accounts?|reviews)\b|\bhot-?wir(?:e|ing)\b"
        ),
        "fake|stolen|counterfeit|forged|cloned|hotwire|hot-wire|hotwiring|hot wire",
        rf"{STORY}{_GUARD}|\bmy stolen|was stolen|got stolen|been stolen|is fake|tell if",
    ),
    asked(
        "VIOLENCE",
        (
            rf"\bmak(?:e|ing) {PERSON}(?: \w+)? (?:sick|ill|fall|suffer|bleed|disappear|vanish|unconscious|infertile|miscarry"
            r"|go missing|pass out|addicted|blind)\b|\bcontaminat\w+ (?:his|her|their|someone's|the|a|my \w+'s) (?:food|water"
            r"|drink|coffee|lunch|supply|well|reservoir|water supply)\b|\b(?:look|seem|appear) like an? (?:accident|suicide"
            r"|overdose)\b|\bhuman traffick\w+\b[^.!?\n]{0,40}\b(?:victims|start|begin|run|operate|recruit|join|business"
            r"|ring)\b|\b(?:recruit|radicali[sz]|indoctrinat)\w*\b[^.!?\n]{0,40}\b(?:terroris\w+|extremis\w+|isis|al[- ]qaeda"
            r"|jihad\w*|militia|nazi\w*|cult|gang|child soldiers?)\b"
        ),
        (
            "sick|ill|fall|suffer|bleed|disappear|vanish|unconscious|infertile|miscarr|go missing|pass out|addicted|blind"
            "|contaminat|accident|suicide|overdose|traffick|recruit|radicali|indoctrinat"
        ),
        rf"{STORY}{_GUARD}|stop|combat|fight|counter|help|support|feel ill|airplane|motion|\billusion",
    ),
    asked(
        "VIOLENCE",
        (
            r"\b(?:abus|tortur|kill|poison|drown|starv|beat|hurt|kick|mistreat|strangl|burn|harm)\w* (?:my|a|the|his|her|their"
            r"|your|someone's|my neighbou?r'?s?|the neighbou?r'?s?|stray|live)(?: [\w']+)? (?:dogs?|cats?|puppy|puppies|kittens?"
            r"|pets?|horses?|hamsters?|rabbits?|animals?)\b"
        ),
        "dog|cat|pupp|kitten|pet|horse|hamster|rabbit|animal",
        (
            rf"{STORY}{_GUARD}|euthan|sick|humane|vet\b|stop|without (?:hurting|harming|killing)|\bif (?:i|my|a)|what (?:foods?"
            "|plants?)|beat the heat|train"
        ),
    ),
    asked(
        "PRIVACY",
        (
            r"\bwhere (?:my|his|her|this|that|an?|our|the)(?: [\w'-]+){0,2}? ?(?:ex|girl|woman|crush|celebrity|co-?worker"
            r"|neighbou?r|boss|teacher|man|guy|person|classmate|actress|singer|girlfriend|boyfriend|wife|husband|ex-\w+) (?:now "
            r"|currently |really )?(?:lives?|works?|is staying|resides?|sleeps?|is right now)\b|\b(?:plant|hid|install"
            r"|put)\w* (?:an? )?(?:\w+ )?(?:bug|listening device|hidden camera|spy camera|tracker|gps tracker|recorder"
            r"|microphone)s? (?:in|on|inside|under)\b|\bupskirt\w*\b"
        ),
        "where |bug|listening device|camera|tracker|recorder|microphone|upskirt",
        (
            rf"{STORY}{_GUARD}|my own|my (?:house|home|garden|yard|car|dog|cat|kitchen)\b|our (?:house|home|office|store)"
            "|bugs? in (?:my|the|this) (?:code|program|app|software|game)|wildlife|baby"
        ),
    ),
    asked(
        "HATE",
        (
            r"\bwhy (?:are|do|is|can't|don't) (?:all |most |the )?(?:women|men|girls|jews|muslims|christians|blacks?|black people"
            "|white people|asians?|asian people|immigrants|gays?|gay people|mexicans|indians|arabs|refugees|foreigners|the poor"
            "|poor people|old people|disabled people|trans people|africans|chinese people|homeless people|fat people) (?:so "
            "|all |always |such |naturally |just )*(?:stupid|dumb|lazy|inferior|dirty|greedy|evil|violent|criminals?|ugly"
            r"|worthless|disgusting|dishonest|bad at|weak|annoying|subhuman|untrustworthy|terrorists?)\b"
        ),
        (
            "stupid|dumb|lazy|inferior|dirty|greedy|evil|violent|criminal|ugly|worthless|disgusting|dishonest|bad at|weak"
            "|annoying|subhuman|untrustworthy|terrorist"
        ),
        "stereotype|perceived|considered|portrayed",
    ),
)
