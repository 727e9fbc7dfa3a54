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
)
