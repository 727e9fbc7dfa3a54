"""Sentences of our own in Chinese, with values whose check digits are right, drawn by a fixed seed."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Final

import msgspec
from stdnum import luhn
from stdnum.cn import ric, uscc

ROUNDS: Final = 4
"""Sentences that are made of each line that has something in it."""
_SLOT: Final = re.compile(r"\{([A-Z_]+)\}")

_NAMES_TEXT: Final = """
王秀兰 李建军 张伟 刘洋 陈静怡 杨柳青 黄志强 赵敏 吴佳琪 周杰 徐丽娜 孙浩然 马晓东 朱琳 胡雪梅 郭明亮 何欣
高远 林子涵 罗永红 郑凯 梁思琪 谢文博 宋佳 唐宇 许晴川 韩冰 冯立新 邓超群 曹慧敏 彭程 曾国华 肖雅文 田甜
董建华 潘晓婷 袁野 蔡依依 蒋欣然 余秋雨 杜鹃 叶知秋 程序 魏巍 苏小妹 吕布衣 丁一凡 任静 卢俊义 姚明月 沈从军
钟楚红 姜文轩 崔永平 谭晶晶 陆小凤 范玉成 汪洋 廖凡 石磊 金星 韦小宝 贾宝玉 夏雨荷 付强 方圆 邹市明 熊猛 白雪
孟庆国 秦岭 邱淑贞 侯勇 江山 尹正 薛涛 闫妮 段奕宏 雷鸣 龙飞 黎明 贺军 顾念 毛宁 郝建国 龚琳 邵峰 万芳
覃海燕 武松林 钱多多 戴安娜 严冬梅 莫文蔚 孔令奇 向阳 常乐 欧阳修竹 欧阳娜 司马光远 上官云珠 诸葛明 慕容雪
皇甫嵩 司徒静 夏侯杰 令狐冲 阿依古丽 王一鸣 李梓萱 张若昀 刘诗雨 陈奕辰 杨紫涵 黄铮 赵子龙 吴京华 周芷若 徐志远
孙俪 马化龙 朱一龙 胡歌 郭靖宇 何炅 高圆圆 林黛玉 罗晋 郑爽 梁朝阳 谢霆 宋茜
"""
_ADDRESSES_TEXT: Final = """
北京市朝阳区建国路88号现代城A座1203室
上海市浦东新区世纪大道1568号中建大厦27层
广东省深圳市南山区科技园科苑路15号科兴科学园B栋4单元
浙江省杭州市西湖区文三路398号东信大厦602室
四川省成都市武侯区天府大道中段530号东方希望天祥广场2栋1805
江苏省南京市鼓楼区中山北路223号3幢502室
湖北省武汉市洪山区珞喻路1037号
陕西省西安市雁塔区小寨东路11号院3号楼2单元701
山东省青岛市市南区香港中路76号
天津市和平区南京路189号津汇广场2座1508室
重庆市渝北区龙溪街道金龙路258号5栋12-3
福建省厦门市思明区湖滨南路57号金源大厦19层
湖南省长沙市岳麓区麓山南路932号
河南省郑州市金水区花园路39号国贸中心B座
辽宁省大连市中山区人民路23号虹源大厦
广西壮族自治区南宁市青秀区民族大道127号
新疆维吾尔自治区乌鲁木齐市天山区解放北路100号
云南省昆明市五华区东风西路99号
苏州市工业园区星湖街328号创意产业园5栋
昆山市玉山镇前进中路288号
海淀区中关村大街27号中关村大厦1001室
徐汇区漕溪北路18号16楼A座
天河区体育西路103号维多利广场A塔35楼
福田区深南大道6011号
幸福小区6号楼3单元402室
翠竹苑12栋2单元901
河北省石家庄市正定县三里屯村12号
安徽省合肥市蜀山区长江西路130号4幢306
贵州省贵阳市观山湖区林城东路9号
黑龙江省哈尔滨市南岗区西大直街92号
"""
NAMES: Final = tuple(_NAMES_TEXT.split())
ADDRESSES: Final = tuple(_ADDRESSES_TEXT.split())
_REGIONS_TEXT: Final = """
110105 310115 440305 330106 510107 320106 420111 610113 370202 120101 500112 350203 430104 410105 210202 450103 530102
230103 130123
"""
_REGIONS: Final = tuple(_REGIONS_TEXT.split())
_PROVINCES: Final = "京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼"
_CARDS: Final = (("622202", 19), ("621700", 19), ("622848", 19), ("625912", 16), ("436742", 16), ("524090", 16), ("621226", 19))
_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ"
_MAILS_TEXT: Final = "163.com qq.com 126.com gmail.com sina.com.cn foxmail.com mail.tsinghua.edu.cn huaxin-tech.cn outlook.com"
_MAILS: Final = tuple(_MAILS_TEXT.split())
_ACCOUNTS: Final = (
    "zhangwei",
    "li.na",
    "wang_xm",
    "chenjing88",
    "liu-yang",
    "hr",
    "sales01",
    "xiaoming.zhao",
    "1398765432",
    "Kefu",
    "m.sun+work",
)


class Marked(msgspec.Struct, frozen=True):
    """A sentence and what is in it: begin, end, kind."""

    text: str
    spans: tuple[tuple[int, int, str], ...]


def _digits(rng: Random, count: int) -> str:
    return "".join(rng.choice("0123456789") for _ in range(count))


def _identity(rng: Random) -> str:
    day = f"{rng.randrange(1955, 2015)}{rng.randrange(1, 13):02}{rng.randrange(1, 29):02}"
    stem = f"{rng.choice(_REGIONS)}{day}{_digits(rng, 3)}"
    return stem + ric.calc_check_digit(stem + "0")


def _company(rng: Random) -> str:
    stem = f"91{rng.choice(_REGIONS)}MA{''.join(rng.choice('0123456789ABCDEFGHJKLMNPQRTUWXY') for _ in range(7))}"
    return stem + uscc.calc_check_digit(stem)


def _phone(rng: Random) -> str:
    mobile = f"1{rng.choice('35789')}{_digits(rng, 9)}"
    shapes = (
        mobile,
        mobile,
        mobile,
        f"{mobile[:3]} {mobile[3:7]} {mobile[7:]}",
        f"{mobile[:3]}-{mobile[3:7]}-{mobile[7:]}",
        f"+86 {mobile}",
        f"+86-{mobile}",
        f"010-6{_digits(rng, 7)}",
        f"0755-8{_digits(rng, 7)}",
        f"(021)5{_digits(rng, 7)}",
        f"0571-8{_digits(rng, 7)}-80{rng.randrange(10)}",
        f"400-{_digits(rng, 3)}-{_digits(rng, 4)}",
    )
    return rng.choice(shapes)


def _card(rng: Random) -> str:
    stem, length = rng.choice(_CARDS)
    stem += _digits(rng, length - 1 - len(stem))
    number = stem + luhn.calc_check_digit(stem)
    return rng.choice((number, number, " ".join(number[at : at + 4] for at in range(0, length, 4))))


def _passport(rng: Random) -> str:
    return rng.choice(
        (f"E{_digits(rng, 8)}", f"E{rng.choice(_LETTERS)}{_digits(rng, 7)}", f"G{_digits(rng, 8)}", f"P{_digits(rng, 8)}")
    )


def _permit(rng: Random) -> str:
    return rng.choice((f"C{_digits(rng, 8)}", f"H{_digits(rng, 8)}", f"M{_digits(rng, 8)}"))


def _plate(rng: Random) -> str:
    head = rng.choice(_PROVINCES) + rng.choice(_LETTERS)
    return rng.choice(
        (
            f"{head}{rng.choice(_LETTERS)}{_digits(rng, 4)}",
            f"{head}·{_digits(rng, 5)}",
            f"{head}{_digits(rng, 3)}{rng.choice(_LETTERS)}{_digits(rng, 1)}",
            f"{head}D{_digits(rng, 5)}",
            f"{head}F{rng.choice(_LETTERS)}{_digits(rng, 4)}",
            f"{head}{_digits(rng, 5)}D",
        )
    )


_MADE: Final[dict[str, Callable[[Random], str]]] = {
    "ADDRESS": lambda rng: rng.choice(ADDRESSES),
    "CN_ID": _identity,
    "CN_PASSPORT": _passport,
    "CN_PLATE": _plate,
    "CN_USCC": _company,
    "CREDIT_CARD": _card,
    "EMAIL_ADDRESS": lambda rng: f"{rng.choice(_ACCOUNTS)}@{rng.choice(_MAILS)}",
    "PERSON": lambda rng: rng.choice(NAMES),
    "PHONE_NUMBER": _phone,
}


def sentences(seed: int = 1) -> Iterator[Marked]:
    """All sentences, those with something in them ``ROUNDS`` times with other values."""
    rng = Random(seed)
    lines = Path(__file__).with_name("chinese.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        if line.strip() and not line.startswith("#"):
            for _ in range(ROUNDS if "{" in line else 1):
                yield _filled(line, rng)


def _filled(line: str, rng: Random) -> Marked:
    text, spans, place = "", [], 0
    for slot in _SLOT.finditer(line):
        text += line[place : slot.start()]
        made = _permit if "通行证" in line or "台胞证" in line else _MADE[slot[1]]
        value = made(rng) if slot[1] == "CN_PASSPORT" else _MADE[slot[1]](rng)
        spans.append((len(text), len(text) + len(value), slot[1]))
        text += value
        place = slot.end()
    return Marked(text + line[place:], tuple(spans))
