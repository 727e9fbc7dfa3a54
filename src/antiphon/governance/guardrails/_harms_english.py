"""What requests for harm say in English. All patterns are for folded text.

A request is a question for a way or an order, and names a harm: a violent verb with a person as its object, a crime, a thing that
is made to hurt. Who asks what a word means, what happened, or what goes on in a game or a story asks for no harm.
"""

from typing import Final

from antiphon.governance.guardrails._rules import Rule

_ASK: Final = (
    r"(?:\bhow (?:do|can|could|would|should|might|must|best|exactly)? ?(?:do |can |could |would |should )?(?:i|we|you|one|someone"
    r"|somebody|a person|people|he|she|they|my|to)\b|\bhow to\b|\bhow-to\b|\bwhat(?:'s| is| are| would be| should| can| could"
    r"| kinds? of| weapons?| poisons?| drugs?| chemicals?| steps?)\b(?! (?:\w+ )?(?:definition|meaning|difference|history"
    r"|punishment|penalty|causes?|effects?|impacts?) )|\bwhich (?:\w+ ){0,2}(?:way|method|poison|weapon|drug|chemical|gun|bomb)"
    r"|\bwhere (?:can|could|do|should|is|are|might|to)\b|\bwhen is (?:a|the) (?:good|best)|\bshould i\b|\bcan i\b|\bis there a\b"
    r"|\bi (?:want|need|plan|intend|would like|am going|wish|have to|'d like|wanna|am planning)\b|\bi'm (?:going|planning|trying"
    r"|looking)|\b(?:can|could|would|will) you\b|\bplease\b|\bhelp me\b|\blet's\b|\bteach\b|\bshow\b|\btell\b|\bgive\b"
    r"|\bprovide\b|\bexplain\b|\bdescribe how|\bwrite\b|\bcreate\b|\bdevelop\b|\bgenerate\b|\bdraft\b|\bdesign\b|\bcompose\b"
    r"|\bproduce\b|\boutline\b|\blist\b|\binstruct|\bguide\b|\btutorial\b|\bmanual\b|\bsteps?\b|\bstep-by-step\b|\brecipe\b"
    r"|\binstructions\b|\bplan\b|\bsuggest\b|\brecommend\b|\bbuild\b|\bmake\b|\bconstruct\b|\boffer\b|\bshare\b|\bfind\b|\bget\b"
    r"|\btips\b|\badvice\b|\bmethods?\b|\bways?\b|\bdetail|\bprepare\b|\bcome up with|\bconvince\b|\bpersuade\b|\bscript\b"
    r"|\bcode\b|\bdevise\b|\bformulate\b|\bmake a\b)"
)
_RELATION: Final = (
    "(?:wife|husband|spouse|partner|girlfriend|boyfriend|(?:girl|boy) friend|ex|boss|neighbou?rs?|co-?workers?|colleagues?"
    r"|friends?|family|parents?|mother|father|mom|mum|dad|brother|sister|son|daughter|child|children|kids?|baby|toddler|grand\w+"
    "|uncle|aunt|cousin|teacher|students?|classmates?|roommate|landlord|tenants?|employees?|employer|manager|enem(?:y|ies)|rival"
    "|date|match|doctor|therapist|victims?|stepfather|stepmother|in-?laws?|mother-in-law|father-in-law|nephew|niece|babysitter"
    r"|cleaner|client|patient|lover|mistress|fianc\w+|stalker|bully|bullies|class|housemate|maid|servant)"
)
_GROUP: Final = (
    "(?:gay|black|white|jewish|muslim|asian|trans|transgender|roma|gypsy|disabled|homeless|elderly|old|immigrant|migrant"
    "|indigenous|pregnant|brown|poor|christian|hindu|buddhist|latino|hispanic|chinese|mexican|african|indian|arab|queer|lesbian"
    "|bisexual|innocent|random|young|rich|asexual|non-?binary|divorced|foreign|native|other|certain|many|unsuspecting|specific"
    "|more|most|these|those|some|local|group of|large number of|drunk)"
)
PERSON: Final = (
    f"(?:some(?:one|body)(?: else)?|any(?:one|body)|every(?:one|body)|(?:{_GROUP} )*(?:people|persons?|humans?|humanity|mankind"
    "|men|women|children|kids|babies|toddlers|girls|boys|jews|muslims|christians|hindus|buddhists|lesbians|gays|latinos"
    "|immigrants|migrants|refugees|blacks|cops|police(?: officers?)?|politicians|minors|teenagers|students|civilians|strangers"
    "|pedestrians|employees|workers|customers|celebrities|victims|prisoners|voters|protesters)|(?:a|an|the|another|any|that|this"
    f"|your|one)(?: (?:{_GROUP}|dead|rural|urban|civilian|live|living|human|police|local|government|small|little|whole|entire"
    rf"|rich|famous|underage|(?!fake|toy|character|computer|program|process|video|virtual)\w+))?(?: (?:{_GROUP}|of))? (?:person"
    "|man|woman|child|kid|baby|toddler|girl|boy|human(?: being)?|stranger|cop|officer|politician|president|prime minister"
    "|king of|queen of|judge|teacher|senator|mayor|celebrity|neighbou?r|prostitute|hostage|guard|driver|passenger|crowd"
    "|journalist|witness|infant|teenager|minor|body|corpse|populace|population|nation|community|village|race|ethnic group"
    "|minority|religious group|guy|lady|student|employee|customer|old lady|grandmother|grandparent|immigrant|refugee|leader"
    "|dictator|ceo|public figure|head of state|individual|victim|family)|(?:my|his|her|their|our)(?: (?:own|ex|old|rich|entire"
    "|whole|little|annoying|abusive|cheating|tinder|business|former|best|late|pregnant|dead|estranged|elderly|house"
    f"|probation)){{0,2}}(?:[- ])?(?:ex-?)?{_RELATION}|(?:joe biden|donald trump|biden|trump|obama|putin|xi jinping|elon musk"
    r"|taylor swift|the pope|rishi sunak|zelensky\w*|kamala harris)|myself|yourself|himself|herself|themselves)"
)
_GAP: Final = r"(?:[ -][\w'’-]+){0,3}?[ -]"
STORY: Final = (
    r"(?:\b(?:how|why|what|who|when|where|steps?) did\b|\bkilled\b|\blaws?\b|\blegal(?:ly|ity)?\b|video ?game|\bgame(?:s|play)?\b"
    r"|minecraft|call of duty|\bgta\b|fortnite|roblox|counter[- ]?strike|battlefield|witcher|skyrim|zelda|pokemon|dungeons"
    r"|\bd&d\b|\brpg\b|chess|checkers|poker|boxing|judo|karate|wrestling|fencing|martial art|basketball|football|soccer|tennis"
    r"|baseball|hockey|golf|ping pong|badminton|volleyball|rugby|cricket|shooting range|punching bag|\bfilms?\b|\bmovies?\b"
    r"|\bnovels?\b|\bshort stor|\bstory\b|\bfiction|\bscreenplay|\btv show|\btv series|\bsitcom|\bthe theat|\bon stage\b"
    r"|\bin a play\b|\bmy play\b|\bcharacters?(?:'s)?\b|\bplot\b|\bin the book\b|\bin a book\b|\bmy book\b|\bcomic|\bmanga"
    r"|\banime|\bepisode|\bpi[nñ]ata|\bcosplay|\bboard game|\bsword ?fight scene|\bscene\b|laugh|\bkindness|with love|\bsurprise"
    r"|\bdocumentary|\bhistor(?:y|ical|ically)|\bself[- ]defen[cs]e class|\bdefinition\b|\bmeaning of\b|what does .{0,30} mean)"
)
_HURT: Final = (
    "(?:kill(?:ing)?|murder(?:ing)?|assassinat(?:e|ing)|execut(?:e|ing)|stab(?:bing)?|strangl(?:e|ing)|chok(?:e|ing)|throttl(?:e"
    "|ing)|shoot(?:ing)?(?: up)?|snip(?:e|ing)|slay(?:ing)?|behead(?:ing)?|decapitat(?:e|ing)|poison(?:ing)?|drown(?:ing)?"
    "|suffocat(?:e|ing)|smother(?:ing)?|burn(?:ing)?|attack(?:ing)?|assault(?:ing)?|tortur(?:e|ing)|maim(?:ing)?|mutilat(?:e"
    "|ing)|beat(?:ing)?(?: up)?|punch(?:ing)?|kick(?:ing)?|slap(?:ping)?|hit(?:ting)?|hurt(?:ing)?|injur(?:e|ing)|harm(?:ing)?"
    "|hang(?:ing)?|lynch(?:ing)?|slaughter(?:ing)?|butcher(?:ing)?|massacr(?:e|ing)|exterminat(?:e|ing)|eradicat(?:e|ing)"
    "|annihilat(?:e|ing)|wip(?:e|ing) out|eliminat(?:e|ing)|liquidat(?:e|ing)|terminat(?:e|ing)|decimat(?:e|ing)"
    "|rip(?:ping)? off|dispos(?:e|ing) of|get(?:ting)? rid of|do(?:ing)? away with|bomb(?:ing)?|blow(?:ing)? up|smash(?:ing)?"
    "|crush(?:ing)?|gut(?:ting)?|overpower(?:ing)?|kidnap(?:ping)?|abduct(?:ing)?|captur(?:e|ing)|hunt(?:ing)? down|tackl(?:e"
    "|ing)|hammer(?:ing)?|saw(?:ing)?|chop(?:ping)? up|dismember(?:ing)?|euthani[sz](?:e|ing)|ambush(?:ing)?|bash(?:ing)?"
    "|crack(?:ing)? open|break(?:ing)? open|run(?:ning)? over|push(?:ing)?|scald(?:ing)?|electrocut(?:e|ing)|cripple"
    "|disfigur(?:e|ing)|castrat(?:e|ing)|starv(?:e|ing)|obliterat(?:e|ing)|shatter(?:ing)?|pierc(?:e|ing)|rap(?:e|ing)"
    "|molest(?:ing)?|groom(?:ing)?|grop(?:e|ing)|(?<!the )(?<!a )(?<!this )(?<!each )(?<!new )drug(?:ging)?|sedat(?:e|ing)"
    "|roofi(?:e|ing)|enslav(?:e|ing)|traffic(?:king)?|imprison(?:ing)?|take (?:a )?hostages?|tak(?:e|ing) out|knock(?:ing)? out"
    "|headshot|knockout punch (?:on)?|(?:cyber-?)?stalk(?:ing)?|blackmail(?:ing)?|extort(?:ing)?|intimidat(?:e|ing)"
    "|threaten(?:ing)?|terrori[sz](?:e|ing)|harass(?:ing)?|humiliat(?:e|ing)|bully(?:ing)?|cyber-?bully(?:ing)?|dox(?:x?ing)?"
    "|swat(?:ting)?|catfish(?:ing)?|silenc(?:e|ing)|ruin(?:ing)?|manipulat(?:e|ing)|gaslight(?:ing)?|exploit(?:ing)?|abus(?:e"
    "|ing))"
)


def asked(kind: str, pattern: str, anchors: str, unless: str) -> Rule:
    """A rule about sentences that ask for something."""
    return Rule(kind, pattern, anchors, unless, _ASK)


RULES: Final = (
    asked(
        "VIOLENCE",
        (
            rf"\b{_HURT}{_GAP}?{PERSON}(?:'s?|s')?\b(?! (?:process|program|thread|lights|task|resources|error|code|file|page"
            "|model|test|interview|time|weeds|plants))"
        ),
        (
            "kill|murder|assassinat|execut|stab|strangl|chok|throttl|shoot|snip|slay|behead|decapitat|poison|drown|suffocat"
            "|smother|burn|attack|assault|tortur|maim|mutilat|beat|punch|kick|slap|hit|hurt|injur|harm|hang|lynch|slaughter"
            "|butcher|massacr|exterminat|eradicat|annihilat|wip|eliminat|liquidat|decimat|rip|terminat|dispos|rid of|away with"
            "|bomb|blow|smash|crush|gut |gutting|overpower|kidnap|abduct|captur|hunt|tackl|hammer|saw|chop|dismember|euthan"
            "|ambush|bash|crack|break|run over|running over|push|scald|electrocut|cripple|disfigur|castrat|starv|obliterat"
            "|shatter|pierc|rape|raping|molest|groom|grop|drug|sedat|roofi|enslav|traffic|imprison|hostage|take out|taking out"
            "|knock|headshot|stalk|blackmail|extort|intimidat|threaten|terror|harass|humiliat|bull|dox|swat|catfish|silenc|ruin"
            "|manipulat|gaslight|exploit|abus"
        ),
        (
            rf"{STORY}|take out [\w' ]+ (?:for|to) (?:dinner|lunch|a|the)|hit (?:on|it off|the)|beat [\w' ]+ (?:in|at|to) (?:a "
            r"|the )?(?:\w+ )?(?:checkers|chess|game|race|cards|work|tennis|debate|negotiation|price|it)"
            r"|push [\w' ]+ (?:to (?:succeed|work|study|learn|do|be|their|finish|try)|on (?:a |the )?swing)|without (?:hurting"
            "|harming|killing|injuring|attacking|burning)|not (?:to )?(?:hurt|harm|kill|injure|attack|offend)|(?:avoid|prevent"
            "|stop|protect|report|help|support|comfort|recogni[sz]e|survive|deal with|respond to|cope with|escape|recover|save"
            "|treat|heal|rescue|against|fight against|combat|reduce|why|never|end|ending|signs of|victims? of|if (?:someone"
            r"|somebody|my|a|i))\b[^.!?\n]{0,40}(?:hurt|harm|kill|injur|attack|abus|bull|rape|assault|stalk|violence|suicid"
            "|traffick|harass|exploit|threat|drown|chok|starv|poison|manipulat|silenc|burn|drug|beat|terror|murder|murd|groom"
            "|gaslight|blackmail|extort|humiliat|kidnap|torture|intimidat|shoot)|drug (?:store|test|trial|interaction|companies"
            "|prices|development)|traffic (?:jam|light|laws?|rules|control)|attack (?:the )?(?:problem|question|king)"
            "|kill(?:ing)? time|exploit(?:ing)? (?:the )?(?:fact|opportunit)|execut(?:e|ing) (?:an?|the|my|this) (?:command"
            "|query|program|script|plan|function|contract|will)|ruin (?:my|the) (?:clothes|dish|photo|surprise)"
        ),
    ),
    asked(
        "FRAUD",
        r"\b(?:evad|avoid|cheat|dodg)\w* (?:on )?(?:paying )?(?:my |your |their |any )?tax(?:es)?\b",
        "tax",
        "tax (?:penalt|mistakes|season|software)|legal",
    ),
    asked(
        "MALWARE",
        (
            r"\b(?:bypass(?:ing)?|circumvent(?:ing)?|evad(?:e|ing)|defeat(?:ing)?|exploit(?:ing)?|get(?:ting)? (?:past"
            r"|around))(?: [\w'-]+){0,4}? (?:security(?: systems?| measures| cameras?)?|authentication|firewalls?|antivirus"
            r"|anti-virus|two-factor|2fa|login|drm|paywalls?|captcha|detection|vulnerabilit\w+|metal detectors?|drug tests?"
            r"|border control|age verification|surveillance|police|law enforcement|atms?|content filters?)\b"
        ),
        "bypass|circumvent|evad|defeat|exploit|getting past|get past|get around|getting around",
        rf"{STORY}|prevent|protect|defend|against|mitigat|patch|fix|social security|\bmy own|job security|heart",
    ),
    asked(
        "MISINFORMATION",
        (
            r"\b(?:manipulat|rig|interfer|influenc|disrupt|steal|hack|sabotag|undermin)\w*(?: [\w'-]+){0,3}? (?:elections?"
            r"|voters?|voting|ballots?|stock (?:market|prices?)|stocks|democracy|referendum)\b|\b(?:promot|encourag|incit|glorif"
            r"|justif|advocat|endors|celebrat)\w*(?: [\w'-]+){0,3}? (?:violence|terrorism|suicide|illegal activit\w+|drug (?:use"
            "|abuse)|self-harm|hatred|genocide|rioting|looting|underage drinking|child abuse|domestic violence|eating disorders"
            r"|discrimination|racism|rape)\b"
        ),
        (
            "election|voter|voting|ballot|stock|democracy|referendum|violence|terrorism|suicide|illegal activit|drug |self-harm"
            "|hatred|genocide|riot|looting|underage|child abuse|eating disorder|discriminat|racism|rape"
        ),
        (
            f"{STORY}|prevent|protect|combat|against|stop|factors?|analy[sz]|weather|voter turnout|invest|without|discourag"
            "|how do (?:polls|interest rates|rates|prices)|what (?:influences|factors)|socks|livestock"
        ),
    ),
    Rule(
        "VIOLENCE",
        (
            rf"\b(?:find|get|lure|pick|choose|look for|buy|hire)(?: [\w'-]+){{0,2}} (?:{PERSON}|a hit ?man|an assassin"
            r"|a contract killer)\b(?: to (?:shoot|kill|stab|rape|hurt|harm|attack|beat|rob|torture|eat|murder|kidnap)\b|$"
            r"|[^.!?\n]{0,20}\bto (?:kill|murder|shoot|hurt))|\bhow (?:do|can|could"
            rf"|to)[^.!?\n]{{0,20}} (?:give {PERSON} an? headshot|take {PERSON}(?:'s \w+)? hostage|make {PERSON}(?:'s"
            r"|s')? (?:\w+ )?(?:explode|suffer|disappear|bleed|overdose|crash))|\bsatisfy my (?:pedo\w+|urges? to|bloodlust)"
        ),
        (
            "to shoot|to kill|to stab|to rape|to hurt|to harm|to attack|to beat|to rob|to torture|to murder|to eat|to kidnap"
            "|headshot|hostage|explode|suffer|disappear|bleed|crash|hitman|hit man|assassin|contract killer|satisfy my"
        ),
        f"{STORY}|photo|linkedin|camera|magic trick|pain|illness|disease",
    ),
    asked(
        "FRAUD",
        (
            r"\b(?:steal(?:ing)?|shoplift(?:ing)?|pickpocket(?:ing)?|rob(?:bing)?|burgl\w+) (?!(?:the |a |an |my |your |second "
            "|third |home )*(?:show|base|bases|scene|spotlight|idea|ideas|look|glance|heart|hearts|kiss|moment|thunder|plate"
            r"|march|deal|style|ball|in)\b)(?:an?|some|the|from|money|food|cars?|goods|clothes|electronics|candy|mail|packages"
            r"|jewel\w+|data|intellectual|trade|secrets?|people|someone)\b"
        ),
        "steal|shoplift|pickpocket|rob|burgl",
        (
            rf"{STORY}|prevent|protect|stop|avoid|report|someone's heart|from (?:me|us)\b|was|were|been|got|has|robot|robust"
            "|robin|probab|problem|robe|stealth|steal a (?:deal|look)"
        ),
    ),
    asked(
        "VIOLENCE",
        (
            r"\b(?:smash|break|crack|crush|hammer|bash|shatter|cut|rip|chop|saw|twist|snap|slit|slash|punch|carv|burn|pierc|sever"
            rf"|remov|blow|bit)\w*(?: [\w'-]+){{0,3}}? (?:{PERSON}(?:'s|s')? (?:\w+ )?|human |a human's |my own |my )(?:skull"
            "|head|heads|face|neck|throat|spine|sternum|bones?|legs?|arms?|arter(?:y|ies)|kidney|ribs?|fingers?|teeth|eyes?|body"
            r"|wrists?|cervical artery|jugular|veins?|limbs?)\b"
        ),
        ("skull|head|face|neck|throat|spine|sternum|bone|leg|arm|arter|kidney|rib|finger|teeth|eye|body|wrist|jugular|vein|limb"),
        (
            rf"{STORY}|hair|exercise|massage|stretch|doctor|surgery|surgeon|hat\b|pillow|pain in|shrimp|fish|eyeliner|make-?up"
            "|body (?:of|paragraph|text|weight|fat)|arms? (?:deal|race|day)|shav"
        ),
    ),
    asked(
        "VIOLENCE",
        (
            r"\b(?:commit(?:ting)?|plan(?:ning)?|carry(?:ing)? out|stage|execut(?:e|ing)|perform|do|get(?:ting)? away with"
            "|organi[sz]e|conduct|orchestrate|pull off|repeat|recreate|replicate|start|engage in|participate in|cause|incite"
            r"|launch|instigate)(?: [\w'/-]+){0,5}? (?:murders?|massacres?|assassinations?|genocides?|homicides?|mass shooting"
            r"|school shooting|shooting spree|rape|kidnapping|terror\w*|terrorist attack|bombings?|arson|killing spree"
            r"|ethnic cleansing|lynching|hate crimes?|war crimes?|(?:someone|somebody|[\w ]{1,20})'s (?:death|murder"
            "|assassination)|death like|stadium explosion|explosion|stabbing|acid attack|attacks?|torture|honou?r killing"
            "|domestic violence|violence|(?:violent |sexual |aggravated )?assaults?|treason|sabotage|human trafficking|9/11"
            r"|riots?|mass (?:murder|poisoning|casualty))\b"
        ),
        (
            "murder|massacre|assassination|genocide|homicide|shooting|rape|kidnapping|terror|bombing|arson|killing|cleansing"
            "|lynching|crime|death|explosion|stabbing|attack|torture|violence|assault|treason|sabotage|traffick|9/11|riot"
            "|poisoning"
        ),
        (
            f"{STORY}|heart attack|panic attack|prevent|stop|avoid|against|protect|respond to|support|definition"
            "|what (?:happened|were|was|did)|cyber ?attack|shooting (?:stars?|for|practice|a)|cause of|(?:plan|do) (?:i"
            "|we) (?:for|if|after)|cope|asthma|risk"
        ),
    ),
    asked(
        "VIOLENCE",
        (
            r"\b(?:blow(?:ing)? up|bomb(?:ing)?|burn(?:ing)? down|destroy(?:ing)?|demolish(?:ing)?|set(?:ting)?|explod(?:e|ing)"
            "|attack(?:ing)?|obliterat(?:e|ing)|vandali[sz](?:e|ing)|sabotag(?:e|ing)|level|derail(?:ing)?|smash(?:ing)?"
            "|slash(?:ing)?|torch(?:ing)?|shoot(?:ing)? up|rob(?:bing)?|hold(?:ing)? up|hijack(?:ing)?|break(?:ing)? into"
            r"|explod\w+ a bomb at|key|damag(?:e|ing)|trash(?:ing)?|detonat\w+)(?: [\w'-]+){0,4}? (?:(?:an?|the|my|their|our"
            "|this|that|some)(?: (?:entire|local|public|big|crowded|elementary|high|nearby|jewish|muslim|black|army|military"
            "|federal|government|train|gas|police|power|neighbou?r's|someone else's|jewelry|convenience))* (?:house|home|school"
            "|hospital|city|town|church|mosque|synagogue|temple|stadium|concert|airport|bridge|building|embassy|mall|train|plane"
            "|airplane|aeroplane|bus|base|station|bank|bank vault|casino|store|shop|museum|power plant|power grid|grid|dam"
            "|parliament|white house|office|crowd|apartment|car|dealership|clinic|vault|jewelry store|armou?red truck"
            rf"|neighbou?r's \w+|pipeline|reservoir|water supply|convoy|infrastructure|courthouse)|{PERSON}(?:'s"
            r"|s') (?:\w+ )?(?:house|home|car|motorbike|bike|tires|tyres|windows?|property|phone|laptop|life|lives|reputation"
            r"|marriage|apartment|business|career|room|truck|office|website|garden|mailbox|relationship))\b"
        ),
        (
            "blow|bomb|burn|destroy|demolish|set |setting|explod|attack|obliterat|vandali|sabotag|level|derail|smash|slash|torch"
            "|shoot|rob|hold|hijack|break|key|damag|trash|detonat"
        ),
        (
            f"{STORY}|old building on|property i own|my old|balloon|set (?:up|aside|a (?:goal|budget|timer|reminder|alarm|table"
            "|date|meeting))|set (?:the|my) (?:temperature|table|alarm|thermostat|clock|tone|price|house|car|room|office)|robot"
            "|key (?:to|for|of|in|points?|features?|is|difference)|house key|car key|locked out|my own (?:house|home|car"
            "|apartment)|hold (?:a|the|up well|on|an)|level (?:of|up)|building (?:my|a) career|set it (?:up|to)|set my"
            r"|keys?\b[^.]{0,10}(?:copied|lost|replace)|break into (?:the )?(?:film|industry|market|tech|music)|water damage"
            "|repair|fix|insurance|paint|burn calories|photo"
        ),
    ),
    asked(
        "WEAPONS",
        (
            r"\b(?:mak(?:e|ing)|build(?:ing)?|creat(?:e|ing)|construct(?:ing)?|assembl(?:e|ing)|produc(?:e|ing)|manufactur(?:e"
            "|ing)|synthesi[sz](?:e|ing)|3d[- ]print(?:ing)?|print(?:ing)?|design(?:ing)?|prepar(?:e|ing)|cook(?:ing)?"
            "|acquir(?:e|ing)|obtain(?:ing)?|buy(?:ing)?|get(?:ting)?|smuggl(?:e|ing)|sell(?:ing)?|detonat(?:e|ing)"
            "|plant(?:ing)?|weaponi[sz](?:e|ing)|modify(?:ing)?|convert(?:ing)?|use|using|find(?:ing)?|releas(?:e|ing)"
            "|spread(?:ing)?|deploy(?:ing)?|purchas(?:e|ing)|recipe|instructions?|guide|tutorial|steps?|blueprints?"
            r"|for)(?: [\w'-]+){0,6}? (?:(?:pipe |nail |car |dirty |homemade |home-made |fertili[sz]er |pressure cooker "
            "|chemical |petrol |nuclear |time |letter |smoke |suicide |atomic |hydrogen )?bombs?|bomb vests?|explosives?"
            r"|explosive devices?|\bieds?\b|molotov\w*(?: cocktails?)?|napalm|thermite|\btnt\b|\brdx\b|\btatp\b|\bc-?4\b"
            "|nerve (?:agents?|gas)|sarin|vx gas|mustard gas|ricin|anthrax|botulinum|chemical weapons?|biological weapons?"
            "|bio-?weapons?|nuclear (?:weapons?|device)|dirty bombs?|weapons? (?:of mass destruction|with a 3d printer|at home"
            "|illegally|without)|ghost guns?|untraceable (?:guns?|firearms?|weapons?)|illegal (?:guns?|firearms?|weapons?)"
            "|(?:unregistered|automatic|fully automatic) (?:guns?|firearms?|weapons?|rifles?)|silencers?"
            "|guns? without (?:a )?(?:background|license|permit)|firearms?|grenades?|landmines?|deadly (?:virus|pathogen|poison"
            r"|gas|weapon|toxin)\w*|poison gas|chlorine gas|cyanide|weapons? (?:that|to) |undetectable (?:poison|weapon|bomb)\w*"
            r"|pathogens?|lethal (?:poison|virus|weapon)\w*|smallpox|ebola)\b"
        ),
        (
            "bomb|explosive| ied|molotov|napalm|thermite|tnt|rdx|tatp|c4|c-4|nerve |sarin|vx gas|mustard gas|ricin|anthrax"
            "|botulinum|weapon|device|gun|firearm|rifle|silencer|grenade|landmine|virus|pathogen|poison|gas|toxin|cyanide"
            "|smallpox|ebola"
        ),
        (
            rf"{STORY}|bath bombs?|bomb shelter|defus|prevent|\bsafety\b|treat(?:y|ies|ment)|history of|hiroshima|antidote|ban\b"
            "|antivirus|computer virus|vaccin|cherry bomb cake|glue gun|nerf|water gun|heat gun|staple gun|nail gun|photobomb"
            "|gas (?:station|bill|prices|stove)|remove a virus|protein|why (?:did|do|does|is)|bomb (?:cyclone|pop)"
            "|firearm (?:safety|laws?)|guns? (?:control|laws?|debate)|chemistry class"
        ),
    ),
    Rule(
        "WEAPONS",
        (
            r"\b(?:what|which) (?:weapons?|kind of (?:bomb|weapon)|(?:\w+ ){0,2}(?:poison|bomb|gun))s?\b[^.!?\n]{0,60}\b(?:can"
            r"|could|should|do|to) (?:i |we )?(?:use to )?(?:kill|murder|hurt|harm)\b|\b(?:bomb|weapon"
            r"|poison)s?\b[^.!?\n]{0,30}\b(?:can|should|could) i (?:kill|use|hurt)"
        ),
        "weapon|bomb|poison|gun",
        STORY,
    ),
    asked(
        "DRUGS",
        (
            r"\b(?:mak(?:e|ing)|cook(?:ing)?|synthesi[sz](?:e|ing)|produc(?:e|ing)|manufactur(?:e|ing)|buy(?:ing)?|get(?:ting)?"
            "|sell(?:ing)?|deal(?:ing)?|smuggl(?:e|ing)|grow(?:ing)?|obtain(?:ing)?|score|order(?:ing)?|find|purchas(?:e|ing)"
            "|traffic(?:king)?|distribut(?:e|ing)|extract(?:ing)?|creat(?:e|ing)|acquir(?:e|ing)|import(?:ing)?|hid(?:e|ing)"
            "|inject(?:ing)?|snort(?:ing)?|mix(?:ing)?|recipe for|use|using|try|abus(?:e|ing)|prepar(?:e"
            r"|ing))(?: [\w'-]+){0,5}? (?:cocaine|crack(?: cocaine)?|(?:crystal )?meth(?:amphetamines?)?|heroin|lsd|mdma"
            "|ecstasy(?: pills?)?|fentanyl|ghb|pcp|ketamine|amphetamines?|opium|illegal (?:drugs?|substances?)|drugs|narcotics"
            "|(?:a )?(?:gram|kilo|ounce|line|bag|eight ball) of (?:coke|weed|crack|cocaine|heroin|meth)|coke dealer|weed"
            "|mari[jh]uana|cannabis|magic mushrooms|psilocybin|dmt|roofies|rohypnol|date rape drugs?|oxycontin|oxycodone|xanax"
            "|adderall|steroids|dangerous (?:or illegal )?drugs?|bath salts|speed pills?|opioids?|spice drug"
            r"|controlled substances?)\b(?! (?:store|test|interaction|name|price|safely dispose|ice cream|oil for|education"
            "|companies|policy|addiction|in my (?:garden|lawn|yard|pipe)|my|killer|control))"
        ),
        (
            "cocaine|crack|meth|heroin|lsd|mdma|ecstasy|fentanyl|ghb|pcp|ketamine|amphetamine|opium|drug|narcotic|coke|weed"
            "|marijuana|marihuana|cannabis|mushroom|psilocybin|dmt|roofie|rohypnol|oxyco|xanax|adderall|steroid|bath salts"
            "|speed pill|opioid|substance"
        ),
        (
            f"{STORY}|weed my|to weed|crack in|the crack|state of ecstasy|cracks? (?:in|on)|rid of|(?:get|getting) (?:off|clean"
            "|help|rid)|quit|stop|avoid|withdrawal|prescri|pharmac|doctor|addict|method|anti-?drug|rehab|drugs? (?:work|affect"
            "|treat)|legal status|interact|side effects?|a can of|research|over-the-counter|generic|insurance|medicare"
            "|weed (?:killer|control)|weeds"
        ),
    ),
    Rule(
        "SELF_HARM",
        (
            r"\b(?:how (?:do|can|could|should|would|to)|what(?:'s| is| are| can i| should i)|where|which|ways?|methods?|tell me"
            r"|help me|best|easiest|painless|i (?:want|plan|need|am going|wanna)|teach|give|guide|instructions|encourag\w+|write"
            r"|tutorial|create|tips)\b[^.!?\n]{0,80}?\b(?:kill(?:ing)? (?:myself|yourself|themselves|oneself|himself|herself)"
            "|hang(?:ing)? myself|drown(?:ing)? myself|cut(?:ting)? (?:myself|yourself|my (?:wrists?|arms?|skin))"
            "|hurt(?:ing)? myself|harm(?:ing)? (?:myself|themselves)|poison(?:ing)? myself|shoot(?:ing)? myself|starv(?:e"
            "|ing) myself|commit(?:ting)? suicide|suicide (?:method|note|plan|pact)s?|suicide|end(?:ing)? (?:my|their"
            r"|your)(?: own)? li(?:fe|ves?)|end(?:ing)? my life|tak(?:e|ing) my own life|self[- ]?harm\w*|overdos(?:e|ing)"
            r"|slit(?:ting)? my|sever (?:my|one's) (?:\w+ )?(?:arter|wrist|vein|neck|throat|jugular)\w*|die (?:like|painlessly"
            r"|quickly|tonight|by)|carv\w+[^.!?\n]{0,20} into my (?:arm|skin|leg|wrist)|pierce my own|go out like|anorexi[ac]\w*"
            r"|bulimi\w+|pro-?ana|jump off a (?:bridge|building)|lethal dose|disappear forever|not wake up|burn(?:ing)? myself"
            r"|eating disorders?)\b"
        ),
        (
            "myself|yourself|themselves|oneself|himself|herself|wrist|my arm|my skin|suicid|my life|your life|their li|own life"
            "|self-harm|self harm|selfharm|overdos|slit|die |into my|sever my|pierce my|go out like|anorexi|bulimi|pro-ana"
            "|proana|jump off|lethal dose|disappear forever|wake up|eating disorder"
        ),
        (
            rf"{STORY}|prevent|hotline|\bsupport\b|stop|helpline|recover|what is (?:suicide|self-harm|an? )|overcome|friend who"
            r"|awareness|help (?:a|my|someone)|warning signs|statistics|rates?\b|suicide squad|treat|symptoms|signs of"
            "|kill(?:ing)? myself laughing|avoid|bungee|narcan|naloxone|from (?:an )?overdos|die (?:in|of|from) (?:a|the|what)"
            "|how did|reduce|cope"
        ),
    ),
    asked(
        "FRAUD",
        (
            r"\b(?:commit(?:ting)?|launder(?:ing)?|counterfeit(?:ing)?|forg(?:e|ing)|fak(?:e|ing)|evad(?:e|ing)|embezzl(?:e|ing)"
            "|scam(?:ming)?|defraud(?:ing)?|swindl(?:e|ing)|con(?:ning)?|phish(?:ing)?|steal(?:ing)?|cheat(?:ing)?|brib(?:e|ing)"
            "|shoplift(?:ing)?|pickpocket(?:ing)?|smuggl(?:e|ing)|rob(?:bing)?|burglari[sz]e|trick(?:ing)?|skim(?:ming)?"
            "|clon(?:e|ing)|plagiari[sz]e|pirat(?:e|ing)|falsif(?:y|ying)|impersonat(?:e|ing)|rig(?:ging)?|print(?:ing)?|mak(?:e"
            "|ing)|creat(?:e|ing)|generat(?:e|ing)|writ(?:e|ing)|get(?:ting)? away with|manipulat(?:e|ing)|engage in"
            "|participat(?:e|ing) in|promot(?:e|ing)|encourag(?:e|ing)|us(?:e|ing)|run(?:ning)?|develop(?:ing)?|do(?:ing)?"
            "|carry out|perform|buy(?:ing)?|sell(?:ing)?|start(?:ing)?|set(?:ting)? up|conduct(?:ing)?|insider|avoid(?:ing)?"
            r"|hid(?:e|ing))(?: [\w'-]+){0,5}? ?(?:\b(?:(?<=counterfeit )(?:money|currency|bills|notes)"
            r"|(?<=counterfeiting )(?:money|currency|bills|notes)|identity theft|(?:[\w ]{0,24} )?fraud|money laundering"
            "|armed robbery|robbery|burglary|theft|larceny|tax(?:es)? evasion|insider trading|embezzlement|extortion|blackmail"
            r"|ponzi(?: scheme)?s?|pyramid schemes?|phishing (?:\w+ )?(?:e-?mails?|sites?|websites?|pages?|campaigns?|scams?"
            r"|attacks?|messages?)|scams?|scam e-?mails?|counterfeit (?:\w+ )?(?:money|bills?|currency|notes?|goods?|documents?"
            "|passports?)|fake (?:ids?|passports?|driver'?s? licen[sc]es?|money|identit(?:y|ies)|documents?|diplomas?|degrees?"
            r"|prescriptions?|vaccin\w+ cards?|checks?|reviews|invoices?|charity|news|cures?|green cards?)"
            r"|stolen (?:credit cards?|goods|identit\w+)|bribes?|dirty money|illegal (?:money|funds|gambling|activities)"
            "|money (?:from|through|out of) (?:my )?(?:employer|company|clients)|without (?:getting caught|paying|being caught"
            "|being detected)|(?:an?|the|some) (?:car|bike|wallet|bank account|identity|credit cards?|exams?|test|election|vote"
            rf"|packages?|laptop|store|catalytic converter)s?|{PERSON}(?:'s|s') (?:\w+ )?(?:wallet|car|money|identity|phone"
            "|savings|bank account|passport|credit cards?|purse|bike|inheritance|packages?|pin|data|password|mail|jewelry"
            r"|account|social security number|signature)|from (?:an?|the|my|people|old|elderly|someone) ?(?:\w+ )?(?:store|shop"
            r"|employer|company|grocery store|bank|work|neighbou?r|people|elderly|pensioners?|grandm\w+|customers|clients"
            "|cash register|charity|church)|old people|elderly (?:people|person)?|social security numbers?"
            r"|credit card (?:numbers?|details|information|skimm\w+)|bank details)\b)|\blaunder(?:ing)? (?:\w+ )?(?:money|cash"
            "|funds)"
        ),
        (
            "fraud|launder|robbery|burglar|theft|larceny|evasion|insider trading|embezzl|extortion|blackmail|ponzi"
            "|pyramid scheme|phishing|scam|counterfeit|fake |stolen|bribe|dirty money|illegal|getting caught|being caught"
            "|being detected|steal|cheat|shoplift|pickpocket|forg|trick|clon|rig |rigging|skim|swindl|defraud|con |conning|phish"
            "|impersonat|falsif"
        ),
        (
            f"{STORY}|prevent|protect|detect|avoid (?:being|getting|scam|phish|fraud|identity|becoming)|report|recogni[sz]e"
            r"|spot\b|defen[dcs]|fight(?:ing)?\b|against|steal(?:ing)? (?:the show|someone's heart|a base|second base|hearts?)"
            r"|\bi (?:was|got|have been|am a victim)|victim|forge ahead|forget|forgot|(?:fake|faking) (?:flowers?|plants?|tan"
            r"|snow|blood|fur)|trick or treat|magic trick|\btrick (?:question|to)|cheat sheet|alert|on my (?:account|card)"
            r"|my card|claim|\bdispute|pros and|training|classif|deal with|what (?:is|are) (?:the )?(?:fraud|penalt)|cheat (?:day"
            "|meal)|on the (?:card|account)|got stolen|was stolen|is stolen|been stolen|wikipedia"
        ),
    ),
    asked(
        "MALWARE",
        (
            r"\b(?:writ(?:e|ing)|creat(?:e|ing)|mak(?:e|ing)|develop(?:ing)?|build(?:ing)?|cod(?:e|ing)|cod|spread(?:ing)?"
            "|deploy(?:ing)?|install(?:ing)?|design(?:ing)?|program|launch(?:ing)?|perform(?:ing)?|conduct(?:ing)?"
            "|infect(?:ing)?|distribut(?:e|ing)|generat(?:e|ing)|produc(?:e|ing)|us(?:e|ing)|inject(?:ing)?|set up|send(?:ing)?"
            r"|run(?:ning)?|execut(?:e|ing)|script|program|algorithm|software|app|tutorial|guide)\b[^.!?\n]{0,60}?\b(?:malware"
            "|ransomware|spyware|adware|trojans?(?: horse)?|rootkits?|key-?loggers?|computer (?:virus|worm)(?:es)?|virus (?:that"
            "|which|to)|worm that|botnets?|ddos|denial[- ]of[- ]service|sql injection attack|exploit (?:kit|code)|zero-?day"
            r"|backdoors?|phishing (?:page|site|kit|website|e-?mail)|brute[- ]?forc\w+|credential stuffing|crypto-?jack\w+"
            "|remote access trojan|password (?:cracker|stealer)|malicious (?:code|software|payload|script|program|app|macro"
            "|link)|crack(?:s|ing)? (?:passwords?|wi-?fi)|disables? (?:antivirus|security)|exploits? (?:vulnerabilit|security"
            r"|a vulnerab)\w*|(?:steals?|stealing|exfiltrat\w+|harvest\w*|scrapes?|logs?) (?:\w+ ){0,3}(?:passwords?|credentials"
            r"|personal|private|sensitive|credit card|login|keystrokes|data from|bank)\w*|bypass(?:es"
            r"|ing)? (?:\w+ ){0,3}(?:security|authentication|firewalls?|antivirus|two-factor|2fa|login|drm|paywalls?|captcha)"
            r"|deep ?fakes?)\b"
        ),
        (
            "malware|ransomware|spyware|adware|trojan|rootkit|keylogger|key-logger|virus|worm|botnet|ddos|denial|sql injection"
            "|exploit|zero-day|zero day|zeroday|backdoor|phishing|brute|credential|cryptojack|crypto-jack|password|malicious"
            "|crack|antivirus|steal|exfiltrat|harvest|scrape|keystroke|bypass|deepfake|deep fake"
        ),
        (
            f"{STORY}|prevent|protect|detect|remov|defend|mitigat|against|clean|scan for|brute[- ]?force (?:solution|approach"
            "|algorithm|search|method)|my password|forgot|reset|password manager|strong password|hash|def |class |explain what"
            r"|what is (?:a|an|the)\b|vaccin|harvest (?:crops|season)|my own|(?:o\(n|time complexity)"
        ),
    ),
    asked(
        "MALWARE",
        (
            r"\b(?:hack(?:ing)?(?: into)?|break(?:ing)? into|crack(?:ing)?|tap(?:ping)?|intercept(?:ing)?|hijack(?:ing)?"
            "|spy(?:ing)? on|infiltrat(?:e|ing)|breach(?:ing)?|compromis(?:e|ing)|jam(?:ming)?|disabl(?:e|ing)"
            "|gain(?:ing)? (?:unauthori[sz]ed )?access to|unauthori[sz]ed access to|eavesdrop(?:ping)? on|track(?:ing)?"
            rf"|snoop(?:ing)? on)(?: [\w'-]+){{0,4}}? ?(?:{PERSON}(?:'s|s')|into|secure|government|corporate|company|bank"
            "|websites?|servers?|networks?|databases?|accounts?|wi-?fi|instagram|facebook|gmail|whatsapp|snapchat|e-?mail"
            "|phones?|atms?|webcams?|alarms?|security (?:systems?|cameras?)|computers?|power grid|traffic lights"
            r"|voting machines?|systems?|cell ?phones?|smart ?phones?|iphones?|passwords?)\b"
        ),
        "hack|break|crack|tap|intercept|hijack|spy|infiltrat|breach|compromis|jam|disabl|gain|unauthor|eavesdrop|track|snoop",
        (
            f"{STORY}|prevent|protect|detect|defend|against|life ?hack|hackathon|my (?:own )?(?:package|order|phone|computer"
            r"|account|e-?mail|iphone|website|laptop|device|wi-?fi|wifi|network|alarm|password|server)\b|pop-?up|expenses"
            "|spending|habit|progress|growth|inventory|was hacked|been hacked|got hacked|tap water|traffic jam"
            r"|jam\b.{0,12}(?:recipe|fruit|berr)|break into (?:the )?(?:film|tech|industry)|gain access to (?:clean|health"
            "|educat|capital|credit)|notifications?|comments|javascript|button|update|feature|race|company (?:culture|break)"
            "|down (?:into|a)|track (?:record|changes|of|my|and field|the|your)|breach of|compromise (?:between|on)"
            "|disable (?:the )?(?:auto|spell|ads|updates|comments)|crack (?:a joke|open|an egg)|alarm (?:clock|on my)"
        ),
    ),
    Rule(
        "SEXUAL_MINORS",
        (
            r"\b(?:(?:sex(?:ual|ually|y)?|porn\w*|erotic\w*|nudes?|naked|explicit|seduc\w+|groom(?:ing)?|lewd|nsfw|arous\w+"
            r"|fetish|molest\w*|intercourse|intimate|dating|rape|undress\w*)\b[^.!?\n]{0,60}\b(?:child(?:ren)?|kids?|minors?"
            r"|underage\w*|(?:little|young|school) ?(?:girls?|boys?)|toddlers?|infants?|bab(?:y|ies)|pre-?teens?|teen(?:ager)?s?"
            r"|\d{1,2}[- ]year[- ]old|school ?girls?|lolita|loli|shota|pedophil\w+|student)|\b(?:child(?:ren)?|kids?|minors?"
            r"|underage\w*|(?:little|young|school) ?(?:girls?|boys?)|toddlers?|infants?|pre-?teens?|teen(?:ager)?s?|(?:[1-9]"
            r"|1[0-7])[- ]year[- ]olds?|school ?girls?|loli|shota)\b[^.!?\n]{0,60}\b(?:sex(?:ual|ually|y)?|porn\w*|erotic\w*"
            r"|nudes?|naked|explicit|seduc\w+|grooming|lewd|nsfw|arous\w+|fetish|molest\w*|intercourse|undress\w*))|\bcsam\b"
            r"|child porn\w*|kiddie porn"
        ),
        (
            "sex|porn|erotic|nude|naked|explicit|seduc|groom|lewd|nsfw|arous|fetish|molest|intercourse|undress|csam|rape|dating"
            "|intimate"
        ),
        (
            r"sex(?:ual)? (?:symbol|education|ed\b|health|orientation|abuse|predator|offender|harassment|assault|of (?:my|the"
            "|a) baby|reproduction|ratio|difference)|prevent|protect|report|teach(?:ing)? (?:my|kids|children|teen)|definition"
            "|what is|law|crime|same-?sex|explicit(?:ly)? (?:instruct|teach|tell|state)|baby (?:girl|boy|shower)|age of consent"
            "|naked eye|biological sex|dating (?:back|app|site)s?|carbon dating|pet grooming|dog groom|unisex|sex of|support"
            "|victims"
        ),
    ),
    Rule(
        "PRIVACY",
        (
            r"\b(?:(?:what|where|who|when)(?:'s| is| are| was| does| do| can)|(?:how|where) (?:can|do|could|should|might|to)"
            "|exactly how much|is|are|find|tell me|give me|get|list|look up|help me|show me|reveal|track down|i (?:want|need)"
            r"|provide|share)\b[^.!?\n]{0,40}?\b(?:my|our|his|her|their|someone|somebody|a stranger|other people|celebrit(?:y"
            "|ies)|someone else|a woman|a girl|this (?:woman|girl|man|person|guy)|that (?:woman|girl|man|person)|another person"
            r"|people|private individuals?)(?: (?!own)[\w'-]+){0,3}?(?:'s?|s'|s’)? (?:\w+ )?(?:home address|private (?:e-?mail"
            "|address|phone|photos?|messages?|information|data)|(?:mobile |cell |private )?phone number|social security numbers?"
            "|passport numbers?|credit card (?:details|numbers?)|bank account (?:details|number)|medical records?"
            r"|mental health history|browsing history|(?:internet )?browser history|search history|(?:iphone |phone |card )?pin\b"
            r"|(?:\w+ )?passwords?|(?:\w+ )?login|criminal (?:history|record)|immigration status|tax (?:records?|returns?)"
            "|birth certificate|sexual orientation|religious beliefs|political affiliation|marital status|date of birth"
            "|driver'?s? licen[sc]e number|text messages|private messages|location without|dna|health records|license plate"
            r"|whereabouts)\b"
        ),
        (
            "address|private|phone number|social security|passport number|credit card|bank account|medical record"
            "|mental health history|browsing history|browser history|search history|pin|password|login|criminal"
            "|immigration status|tax re|birth certificate|orientation|religious belief|political affiliation|marital status"
            "|date of birth|license number|licence number|text messages|location without|dna|health record|license plate"
            "|whereabouts"
        ),
        (
            r"\b(?:totoro|pikachu|potter|frodo|gandalf|batman|superman|spider-?man|sherlock|simpson|skywalker)\b|\b(?:my"
            r"|our) (?:\w+ )?tax|\b(?:my|our) (?:own |new |old |current |bank |chase |account |credit |debit |wifi |visa "
            r"|checking |savings |\w+ (?:bank|account|card) )?(?:home address|phone number|social security|passport number"
            r"|credit card|bank account|medical|browsing|browser|pin\b|passwords?|login|criminal|immigration|tax|birth|salary"
            r"|date of birth|driver|marital|routing|\w+ (?:password|pin|login|salary|card|account))|protect|secure|forgot|reset"
            r"|change|customer service|support|\bprivacy\b|policy|fictional|\bif (?:i|my)|average|update|pay (?:my|the)|hash"
            "|python|function|dataset"
        ),
    ),
    Rule(
        "PRIVACY",
        (
            rf"\bexactly how much (?:money )?(?:does|do) (?:my|our) (?:\w+ )?{_RELATION} (?:earn|make)|\bis (?:my"
            rf"|our) (?:\w+ )?{_RELATION} (?:an? )?(?:member of|gay|muslim|jewish|pregnant|cheating|on medication|hiv)|\b(?:dox"
            r"|stalk|spy on|secretly (?:record|film|track|watch|photograph|follow)|track (?:my|someone)[\w' ]{0,24}(?:location"
            r"|phone) without)\b[^.!?\n]{0,40}"
        ),
        "how much|is my|is our|dox|stalk|spy on|secretly|track ",
        f"{STORY}|celery|corn ?stalk|prevent|protect|protection|docker|doxygen|doxy",
    ),
)
