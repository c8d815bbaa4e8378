"""Writes the outlines of the two embedded weights as text: `python3 outlines.py` (needs fontTools), after a change of the .ttf files.

First line: units per em. Then one glyph per line, by code point: code point (hexadecimal), advance width, SVG path data (y upwards).
Code point 0 is the box for characters that the font does not have.
"""

from fontTools.pens.basePen import BasePen
from fontTools.ttLib import TTFont


class Path(BasePen):
    def __init__(self, glyphs):
        super().__init__(glyphs)
        self.d = ""

    def add(self, letter, *points):
        self.d += letter + " ".join(f"{round(x)} {round(y)}" for x, y in points)

    def _moveTo(self, p):
        self.add("M", p)

    def _lineTo(self, p):
        self.add("L", p)

    def _qCurveToOne(self, c, p):
        self.add("Q", c, p)

    def _closePath(self):
        self.d += "Z"


for weight in ["regular", "semibold"]:
    font = TTFont(f"{weight}.ttf")
    glyphs = font.getGlyphSet()
    with open(f"{weight}.txt", "w") as out:
        print(font["head"].unitsPerEm, file=out)
        for code, name in sorted({0: ".notdef", **font.getBestCmap()}.items()):
            pen = Path(glyphs)
            glyphs[name].draw(pen)
            print(f"{code:x} {round(glyphs[name].width)} {pen.d}".rstrip(), file=out)
