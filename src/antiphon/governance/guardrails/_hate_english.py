"""What requests for hate and lies say in English. All patterns are for folded text."""

from typing import Final

from antiphon.governance.guardrails._rules import Rule

_REAL_GROUPS: Final = (
    "(?:(?:gay|black|white|jewish|muslim|asian|trans(?:gender)?|roma|disabled|homeless|elderly|old|indigenous|pregnant|divorced"
    "|asexual|non-?binary|poor|foreign|hispanic|queer|bisexual|arab|african|mexican|chinese|immigrant|mentally ill|overweight"
    "|fat) (?:people|women|men|persons|folks|americans|children|students|workers|couples|individuals|families)|women|men|jews"
    "|muslims|christians|hindus|buddhists|lesbians|gays|latinos|immigrants|migrants|refugees|blacks|whites|asians|mexicans"
    "|people on benefits|females|girls|homosexuals|minorities|pregrant women|foreigners|atheists|arabs|gypsies|africans|indians"
    "|disabled people|transgenders)"
)
_RIGHTS: Final = (
    "(?:be (?:barred|banned|excluded|denied|kicked|prohibited|discriminated|segregated|deported|fired|sterili[sz]ed|punished"
    "|locked up|kept|forbidden|prevented|enslaved|stripped|overrepresented)|not (?:be )?(?:allowed|permitted|admitted|given"
    "|hired|trusted|treated|shown|get married|marry|have|vote|hold|work|be|adopt|own|teach|drive|to have|to be|live|enter|serve)"
    "|never (?:be|have|vote|get)|better not|best not|earn less|go through extra|make all|have their partners|best (?:for|if)"
    "|lose (?:their|the) right|weaker|less intelligent|inferior|superior|worse than|less than|dumber|stupid|lazy|criminals?"
    "|dangerous|subhuman|dirty|vote|political decisions|government|voting rights|equal rights|freedom)"
)

RULES: Final = (
    Rule(
        "HATE",
        (
            r"\bwhy (?:should|would|is it|must|shouldn't|are|do"
            rf"|can't)\b[^.!?\n]{{0,50}}?\b{_REAL_GROUPS}\b[^.!?\n]{{0,30}}?\b{_RIGHTS}\b|\b(?:reasons?|arguments?|explain|list"
            r"|justify|convince|essay|article|speech|argue)\b[^.!?\n]{0,30}?\b(?:why|that"
            rf"|for)\b[^.!?\n]{{0,40}}?\b{_REAL_GROUPS}\b[^.!?\n]{{0,20}}?\b(?:should|are|must|shouldn't|to"
            rf"|do)\b[^.!?\n]{{0,16}}?\b{_RIGHTS}\b"
        ),
        (
            "people|women|men |men'|jews|muslims|christians|hindus|buddhists|lesbians|gays|latinos|immigrants|migrants|refugees"
            "|blacks|whites|asians|mexicans|females|girls|homosexuals|minorit|foreigners|atheists|arabs|gypsies|africans|indians"
        ),
        (
            r"\b(?:saturn|jupiter|mars|moon|sun\b|sun's|space|planet|teleport|levitat|laser|telekine|weather|time travel"
            r"|dimension|black hole|underwater|fly\b|decibels|dead\b|animals at will|lightning|invisib|magic|unicorns?|dragons?"
            r"|volcano|without food|breath|portal|superpower|photosynth|gravity|wizard|dinosaurs?|the ocean|past\b|sea floor"
            "|centre of|center of|mind)|should (?:be|not be) (?:afraid|discouraged|judged)|equal pay|support|inclusion|protect"
            "|combat|oppose|(?<!discriminated )against|wrong|myth|stereotype|why are (?:men|women) (?:more|less) likely"
            "|study shows|underrepresented|important"
        ),
    ),
    Rule(
        "HATE",
        (
            r"\b(?:write|create|compose|generate|give me|tell me|make|draft|post|share|design|produce|develop|publish|spread"
            r"|list)\b[^.!?\n]{0,60}?\b(?:racist|sexist|homophobic|transphobic|antisemitic|anti-?semitic|islamophobic|hateful"
            r"|hate speech|bigoted|misogynist\w*|xenophobic|white suprem\w+|nazi propaganda|neo-?nazi|ethnic slurs?|racial slurs?"
            r"|degrading|dehumani[sz]ing|derogatory|defamatory|bullying|harassing|threatening|slander\w*|inciting|incites?"
            r"|propaganda|discriminat\w+|stereotyp\w+|hatred|violence against|cyberbullying)\b"
        ),
        (
            "racist|sexist|phobic|semitic|hateful|hate speech|bigoted|misogyn|white suprem|nazi|slur|degrading|dehumani"
            "|derogatory|defamatory|bullying|harassing|threatening|slander|incit|propaganda|discriminat|stereotyp|hatred"
            "|violence against"
        ),
        (
            "against (?:racis|sexis|hate|bully|discriminat|stereo)|combat|prevent|anti-?(?:racist|bullying|discrimination)|stop"
            "|fight|report|awareness|history of|classif|detect|why .{0,30} (?:wrong|harmful)|policy|end (?:racism|bullying)"
            "|avoid|overcom|challeng|break(?:ing)?|without|analy[sz]e|analysis|discuss|impact"
        ),
    ),
    Rule(
        "HATE",
        (
            r"\b(?:how (?:can|do|could|should) (?:we|i)|what can i|help me|what were the (?:benefits|advantages)|why was|why were"
            r"|why is|show that|prove that|convince|make people believe)\b[^.!?\n]{0,80}?(?:discriminat\w+ against|segregat\w+"
            f"|(?:get rid of|deport|eliminate|eradicate|exterminate|expel) (?:all )?(?:the )?{_REAL_GROUPS}|(?:jim crow|pinochet"
            "|khmer rouge|taliban|auschwitz|apartheid|third reich|nazi|hitler|isis|slave trade|slavery|genocide|ethnic cleansing"
            "|holocaust|concentration camp|nanjing massacre|trail of tears|hiroshima|pol pot|ku klux klan|kkk"
            r"|shooting)[^.!?\n]{0,60}(?:(?<!the )\bbenefits\b|right to|justified|good thing|never (?:happened|took place)"
            r"|fabrication|hoax|lie\b|a lie|replicat|recreat|repeat|restore|methods|today|style|success))|\b(?:replicate|recreate"
            r"|repeat|restore|bring back|justify|celebrate|benefits of|treat women like)\b[^.!?\n]{0,60}?\b(?:jim crow|pinochet"
            "|khmer rouge|taliban|auschwitz|apartheid|third reich|nazi|hitler|isis|slave trade|slavery|genocide|ethnic cleansing"
            r"|holocaust|concentration camp|nanjing massacre|hiroshima|9/11|kkk|ku klux klan)|\bwhy (?:was|were"
            r"|is) (?:the )?(?:hitler|isis|\w+ \w+|[\w ]{3,40}) (?:right|justified|morally justified|actually a good thing"
            "|a good thing) ?(?:to (?:attack|kill|invade|murder|shoot|bomb))?|overstate what happened"
        ),
        (
            "discriminat|segregat|rid of|deport|eliminate|eradicate|exterminate|expel|jim crow|pinochet|khmer rouge|taliban"
            "|auschwitz|apartheid|third reich|nazi|hitler|isis|slave|genocide|cleansing|holocaust|concentration camp|massacre"
            "|trail of tears|hiroshima|pol pot|klan|kkk|shooting|9/11|justified|good thing|right to|overstate"
        ),
        (
            r"prevent|combat|against discrim|fight|report|stop|(?:was|were) (?:\w+ ){0,3}(?:treated|like|conditions)"
            "|right to (?:vote|education|privacy|bear|remain|work|refuse|a )"
        ),
    ),
    Rule(
        "MISINFORMATION",
        (
            r"\b(?:write|create|generate|compose|draft|publish|spread|make|develop|produce|design|convince|post|tweet|run"
            r"|start)\b[^.!?\n]{0,60}?\b(?:fake news|disinformation|misinformation|conspiracy theor\w+|false (?:information"
            "|rumou?rs?|claims?|news)|hoax|propaganda|vaccines? (?:cause|are dangerous|contain)|election (?:was|is) (?:rigged"
            "|stolen)|(?:5g|covid|vaccines?) (?:cause|is a hoax|causes)|earth is flat|deep ?fakes?|interfere with (?:an "
            r"|the )?election|manipulat\w+ (?:the )?(?:elections?|voters?|public opinion|stock)|rig (?:an |the )?election"
            "|undermine (?:the )?(?:election|democra))"
        ),
        (
            "fake news|disinformation|misinformation|conspiracy|false |hoax|propaganda|vaccin|election|5g|earth is flat|deepfake"
            "|deep fake|manipulat|democra"
        ),
        (
            r"\bnovel|fiction|\bgame|combat|prevent|detect|against|spot|fact[- ]check|debunk|counter|identify|analy[sz]"
            "|true or false|classif|explain|false (?:positive|negative)"
        ),
    ),
)
