"""Words by which names and places in English and its neighbours are known."""

from typing import Final

_GIVEN_TEXT: Final = """
aaron abigail adam adrian agnes ahmed aidan aisha alan albert alberto alejandro aleksandr alex alexander alexandra alexis alfred
ali alice alicia alison allan allen amanda amber amelia amir amy ana anastasia anders andre andrea andreas andrei andrew andy
angela angelica anita ann anna anne annette annie anthony antonio arthur arturo ashley astrid audrey austin barbara beatrice ben
benjamin bernard beth betty beverly bill björn bob bonnie brad bradley brandon brenda brian bridget bruce bruno bryan camille
carl carla carlos carmen carol caroline carolyn catherine cecilia charles charlotte chen cheryl chloe chris christian christina
christine christopher cindy claire clara claude claudia colin connor craig cynthia daniel daniela danielle david dawn debbie
deborah debra denise dennis derek diana diane diego dimitri dmitri dmitry dominic donald donna doris dorothy douglas dylan edith
eduardo edward eileen elaine eleanor elena eli elizabeth ella ellen elsa emil emily emma enrique eric erica erik erika erin
ernest esther ethan eugene eva evelyn fatima felix fernando fiona florence frances francesca francesco francis francisco frank
franz fred frederick gabriel gabriela gary gavin geoffrey george georgia gerald giovanni giulia giuseppe gloria gordon grace
graham greg gregory guillaume gustav hannah hans harold harriet harry harvey hassan heather hector heidi helen helena henrik
henry herbert hiroshi holly howard hugo ian ibrahim igor ingrid irene irina isaac isabel isabella ivan jack jacob jacqueline
jake james jamie jan jane janet janice jason javier jean jeff jeffrey jennifer jenny jeremy jerome jerry jesse jessica jill jim
jimmy joan joanna joe joel johan johannes john johnny jon jonas jonathan jorge jose joseph joshua josé joyce juan judith judy
julia julian julie justin kaitlyn karen karin karl kate katherine kathleen kathryn kathy katie keith kelly ken kenji kenneth
kevin kim kimberly klaus kristen kristina kurt kyle lara larry lars laura lauren laurence lawrence lea leah lena leo leon
leonard leonardo leslie lewis liam lillian linda lisa logan lorraine louis louise luca lucas lucia lucy luis luke lydia madison
magnus manuel marc marcel marco marcus margaret maria marie marilyn mario marion marta martha martin martina marvin mary mateo
matteo matthew maureen max maximilian megan mehmet melanie melissa mia michael michaela michel michelle miguel mikael mike
mikhail mohamed mohammed molly monica muhammad nadia nancy naomi natalia natalie natasha nathan nicholas nicolas nicole nigel
nikolai nina noah nora norman oleg olga oliver olivia omar oscar otto pablo pamela patricia patrick paul paula pauline pavel
pedro peggy penny peter petra philip philippe phillip phyllis pierre priya rachel ralph ramon raymond rebecca renee ricardo
richard rick rita robert roberto robin rodney roger roland ronald rosa rosemary rosie roy russell ruth ryan sabrina sally
salvatore sam samantha samuel sandra sara sarah scott sean sebastian sergei sergey sergio seth shannon sharon shaun sheila
shirley simon sofia sonia sophia sophie stacy stanley stefan stella stephan stephanie stephen steve steven stuart sue susan
suzanne sven svetlana sylvia tamara tanya tatiana ted teresa terry theodore theresa thomas tiffany tim timothy tina todd tom
tony tracy trevor tyler ulrich ursula valentina valerie vanessa vera veronica victor victoria vincent virginia vladimir walter
wanda wayne wei wendy werner wilhelm will william xavier yasmin yuki yuri yusuf yvonne zachary zoe
"""
GIVEN: Final = frozenset(_GIVEN_TEXT.split())

_PLACES_TEXT: Final = """
Afghanistan Albania Algeria Amsterdam Argentina Armenia Athens Atlanta Auckland Austin Australia Austria Azerbaijan Bahrain
Bangalore Bangkok Bangladesh Barcelona Beijing Belarus Belgium Berlin Birmingham Bolivia Bosnia Boston Botswana Brazil Brisbane
Brussels Bucharest Budapest Bulgaria Cairo California Cambodia Cameroon Canada Chennai Chicago Chile China Colombia Congo
Copenhagen Croatia Cuba Cyprus Czechia Dallas Delhi Denmark Denver Detroit Dubai Dublin Ecuador Edinburgh Egypt England Estonia
Ethiopia Finland Florida France Frankfurt Geneva Georgia Germany Ghana Glasgow Greece Greenland Guangzhou Guatemala Haiti
Hamburg Helsinki Honduras Houston Hungary Hyderabad Iceland India Indonesia Iran Iraq Ireland Israel Istanbul Italy Jakarta
Jamaica Japan Johannesburg Jordan Karachi Kazakhstan Kenya Kolkata Kuwait Kyoto Lagos Lahore Laos Latvia Lebanon Libya Lisbon
Lithuania Liverpool London Luxembourg Madagascar Madrid Malaysia Malta Manchester Manila Melbourne Mexico Miami Milan Moldova
Monaco Mongolia Montreal Morocco Moscow Mozambique Mumbai Munich Myanmar Nairobi Namibia Nepal Netherlands Nicaragua Nigeria
Norway Oman Osaka Oslo Ottawa Pakistan Panama Paraguay Paris Peru Philadelphia Philippines Phoenix Poland Portland Portugal
Prague Qatar Romania Rome Russia Rwanda Scotland Seattle Senegal Seoul Serbia Shanghai Shenzhen Singapore Slovakia Slovenia
Somalia Spain Stockholm Sudan Sweden Switzerland Sydney Syria Taiwan Tanzania Texas Thailand Tokyo Toronto Tunisia Turkey Uganda
Ukraine Uruguay Uzbekistan Vancouver Venezuela Vienna Vietnam Wales Warsaw Yemen Zambia Zimbabwe Zurich
"""
PLACES: Final = frozenset(_PLACES_TEXT.split())

_NOT_NAMES_TEXT: Final = """
a all american an and april are august avenue bank british but chinese colleagues college company corp customer december doctor
english everyone february french friday friend friends german glad group happy he her here hiring his how i if inc is it its
january japanese july june just llc ltd madam manager march may monday my no not november october or our president professor
road russian saturday september service she sir sorry street sunday support team that the their there these they this those
thursday tuesday university user was we wednesday were what when where which who why yes you your
"""
NOT_NAMES: Final = frozenset(_NOT_NAMES_TEXT.split())
"""Words that no name begins or ends with, though they may be written with a capital."""
