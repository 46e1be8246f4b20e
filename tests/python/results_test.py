"""Result lines as dicts for data frames."""

import importlib.util
import json
import os
import pathlib
import tempfile
import unittest

from support import REPOSITORY

import spdnn


class Results(unittest.TestCase):
    @unittest.skipUnless(os.environ.get("CI") or importlib.util.find_spec("pandas"), "needs pandas: make deps")
    def test_lines_are_a_data_frame_in_one_line(self):
        import pandas

        path = REPOSITORY / "results/h200/official.jsonl"
        frame = pandas.DataFrame(spdnn.read_results(path))
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        self.assertEqual(len(frame), len(lines))
        self.assertEqual(frame["problem.neurons"].tolist(), [line["problem"]["neurons"] for line in lines])
        self.assertEqual(frame["seconds.infer.median"].tolist(),
                         [line["seconds"]["infer"]["median"] for line in lines])
        self.assertEqual(frame["alive"][0], lines[0]["alive"])

    def test_several_files_and_what_is_wrong_in_them(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "runs.jsonl"
            path.write_text('{"a": {"b": 1}}\n \n{"a": {"b": 2, "d": {"e": null, "f": {}}, "g": [{"h": 3}]}, "c": [], "i": 1.5e2}', encoding="utf-8")
            self.assertEqual(spdnn.read_results([path, str(path)])[1:3],
                             [{"file": str(path), "line": 3, "a.b": 2, "a.d.e": None, "a.g": [{"h": 3}], "c": [], "i": 150},
                              {"file": str(path), "line": 1, "a.b": 1}])
            whole = pathlib.Path(folder) / "whole.jsonl"
            whole.write_text("{}\n" * 5, encoding="utf-8")
            for begin, number in ((b"", 1), (b"{}\n", 2)):
                for wrong in (b"[]", b"{", b"nothing", b'{"a": "\xff"}', b'{"a": NaN}', b'{"a": [-Infinity]}',
                              b'{"a": 1e999}', b'{"a":' * 10000 + b"1" + b"}" * 10000, b'{"a": ' + b"[" * 100000):
                    path.write_bytes(begin + wrong + b"\n")
                    for paths in (path, [whole, path]):
                        with self.subTest(file=begin + wrong, paths=paths), self.assertRaisesRegex(
                                spdnn.DataError, f"runs.jsonl:{number}: expected a JSON object"):
                            spdnn.read_results(paths)
            for wrong, name in (('{"file": 1}', "file"), ('{"line": 7}', "line"), ('{"a": 1, "a": 2}', "a"),
                                ('{"a.b": 1, "a": {"b": 2}}', "a.b"), ('{"a": {"b": 1, "b": 2}}', "b")):
                path.write_text(wrong, encoding="utf-8")
                with self.subTest(wrong), self.assertRaisesRegex(
                        spdnn.DataError, f"runs.jsonl:1: expected a JSON object: the field '{name}' comes twice"):
                    spdnn.read_results(path)
            with self.assertRaisesRegex(spdnn.DataError, "none: No such file"):
                spdnn.read_results(folder + "/none")


if __name__ == "__main__":
    unittest.main()
