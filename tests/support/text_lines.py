#!/usr/bin/env python3
"""Makes pictures of lines of text for classifiers of their direction: black on white with some noise, half of them upside
down. usage: text_lines.py TEXT COUNT IMAGES.npy LABELS.npy

The words are those of the file TEXT, the fonts DejaVu's (Debian's fonts-dejavu). Images are COUNT x 3 x 48 x 192 in
[-1, 1]; labels are 0 (upright) and 1.
"""

import pathlib
import re
import sys

import numpy
from PIL import Image, ImageDraw, ImageFont

HEIGHT, WIDTH = 48, 192
FONTS = sorted(pathlib.Path("/usr/share/fonts/truetype/dejavu").glob("*.ttf"))


def line(random, words):
    font = ImageFont.truetype(str(random.choice(FONTS)), int(random.integers(22, 38)))
    paper, ink = int(random.integers(170, 256)), int(random.integers(0, 90))
    picture = Image.new("L", (WIDTH, HEIGHT), paper)
    first = int(random.integers(len(words) - 8))
    ImageDraw.Draw(picture).text((int(random.integers(0, 12)), HEIGHT / 2 + int(random.integers(-3, 4))),
                                 " ".join(words[first:first + 8]), fill=ink, font=font, anchor="lm")
    return numpy.clip(numpy.asarray(picture) + random.normal(0, 6, (HEIGHT, WIDTH)), 0, 255)


def main(text, count, images, labels):
    words = re.findall(r"[A-Za-z][A-Za-z0-9,.:()-]+", pathlib.Path(text).read_text())
    random = numpy.random.default_rng(1)
    upside_down = random.integers(0, 2, int(count))
    lines = [numpy.rot90(one, 2) if turned else one
             for turned, one in ((turned, line(random, words)) for turned in upside_down)]
    grey = (numpy.stack(lines).astype("float32") / 255 - 0.5) / 0.5
    numpy.save(images, numpy.repeat(grey[:, None], 3, axis=1))
    numpy.save(labels, upside_down)


if __name__ == "__main__":
    main(*sys.argv[1:])
