#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "core/text/csv.hpp"
#include "report/baselines.hpp"
#include "report/document.hpp"
#include "report/json_fields.hpp"
#include "report/render/text_forms.hpp"
#include "report/significant.hpp"
#include "spdnn/error.hpp"
#include "support/message_of.hpp"

namespace spdnn {
namespace {

TEST(Significant, KeepsFourDigitsAndAllBeforeThePoint) {
  EXPECT_EQ(significant(0), "0");
  EXPECT_EQ(significant(0.093998209), "0.09400");
  EXPECT_EQ(significant(9.9996), "10.00");
  EXPECT_EQ(significant(0.99996), "1.000");
  EXPECT_EQ(significant(999.96), "1000");
  EXPECT_EQ(significant(127336.4), "127336");
  EXPECT_EQ(significant(-12.3456), "-12.35");
  EXPECT_EQ(significant(66.666, 3), "66.7");
  EXPECT_EQ(significant(999900000000000.0), "999900000000000");
  EXPECT_EQ(significant(-1e60), "-1.000e+60");
  EXPECT_EQ(significant(1e-60), "1.000e-60");
}

TEST(TextForms, MarkdownIsAlignedByCharactersAndBeginsNoBlockOfTheText) {
  Document document{"T", "~~~ is no fence, ~~ is none either", {}};
  document.sections.push_back(
      {"s", "S", {Table{"t", "C", {{"col"}, {"n", "", true}}, {{{"ééééé", "1"}}, {{"abc", "22"}}}}}});
  EXPECT_EQ(to_markdown(document),
            "# T\n\n\\~~~ is no fence, ~~ is none either\n\n## S\n\nC\n\n"
            "| col   |   n |\n| ----- | --: |\n| ééééé |   1 |\n| abc   |  22 |\n");
}

TEST(CsvReader, ReadsQuotationsAndBothEndsOfLines) {
  const auto records = read_csv("f", "a,\"b \"\"c\"\",\nd\"\r\n,x");
  ASSERT_EQ(records.size(), 2U);
  ASSERT_EQ(records[0].size(), 2U);
  EXPECT_EQ(records[0][1].text, "b \"c\",\nd");
  ASSERT_EQ(records[1].size(), 2U);
  EXPECT_EQ(records[1][0].text, "");
  EXPECT_EQ(records[1][1].text, "x");
  EXPECT_EQ(records[1][1].line, 3U);
  EXPECT_EQ(records[1][1].column, 2U);
}

TEST(CsvReader, NamesThePlaceOfWhatIsWrong) {
  EXPECT_EQ(testing::message_of<DataError>([] { read_csv("f", "a\nb,\"c"); }), "f:2:3: a quotation that does not end");
  EXPECT_EQ(testing::message_of<DataError>([] { read_csv("f", "\"a\"b"); }),
            "f:1:4: expected a comma or the end of the line");
}

TEST(Baselines, NeedATimeOrARateAndSizesForATime) {
  const std::string head =
      "system,processor,count,neurons,layers,images,seconds,edges_per_second,counted,measured,source\n";
  const auto rows =
      read_baselines("f", head + "S,P,2,1024,120,60000,0.5,,c,run by us,x\nS,P,768,,,,,1.8e14,c,published,x\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_DOUBLE_EQ(rows[0].rate(), 60000.0 * 1024 * 120 * 32 / 0.5);
  EXPECT_DOUBLE_EQ(rows[1].rate(), 1.8e14);
  const auto refused = [&](const std::string& line) {
    return testing::message_of<DataError>([&] { read_baselines("f", head + line); });
  };
  EXPECT_EQ(refused("S,P,2,1024,120,60000,,,c,published,x"), "f:2:22: '' is empty, and so is edges_per_second");
  EXPECT_EQ(refused("S,P,2,,120,60000,1,,c,published,x"), "f:2:20: '' is empty, and so is one of the sizes");
  EXPECT_EQ(refused("S,P,2,1024,120,60000,-1,,c,published,x"), "f:2:22: '-1' is not a positive number");
  for (const char* const number : {"0", "0.0", "inf", "nan", "1e999", "1x"})
    EXPECT_EQ(refused(std::string("S,P,2,1024,120,60000,") + number + ",,c,published,x"),
              fmt::format("f:2:22: '{}' is not a positive number", number));
  for (const char* const count : {"0", "-1", "1.5", "99999999999999999999"})
    EXPECT_EQ(refused(std::string("S,P,") + count + ",1024,120,60000,1,,c,published,x"),
              fmt::format("f:2:5: '{}' is not a positive whole number", count));
  EXPECT_EQ(refused("S,P,2,1024,120,60000,1,,c,guessed,x"), "f:2:27: 'guessed' is neither 'published' nor 'run by us'");
  EXPECT_EQ(refused(",P,2,1024,120,60000,1,,c,published,x"), "f:2:1: '' is empty");
  EXPECT_EQ(refused("S,P\n"), "f:2:1: 2 fields, expected 11");
  // A rate that is not what size and time make; both may be rounded to two digits.
  EXPECT_EQ(refused("S,P,2,1024,120,60000,0.5,9e11,c,published,x"),
            "f:2:26: '9e11' contradicts the size and the time, which give 4.719e+11");
  EXPECT_EQ(read_baselines("f", head + "S,P,2,1024,120,60000,0.5,4.9e11,c,published,x").size(), 1U);
  EXPECT_EQ(refused(std::string("S,P\0Q,2,1024,120,60000,1,,c,published,x", 39)), "f:2:4: a byte 0, expected text");
}

TEST(JsonFields, PointToTheFieldThatIsWrong) {
  const std::string text = R"({"median": 1, "seconds": {"infer": {"median": "x"}}, "name": "\u0007b\u001f\u007f c"})";
  const JsonFields line("f:7", text);
  EXPECT_EQ(testing::message_of<DataError>([&] {
              line.number({"seconds", "infer", "median"});
            }),
            R"(f:7:37: seconds.infer.median is "x", expected a number that is not negative)");
  EXPECT_EQ(testing::message_of<DataError>([&] { line.count({"seconds", "plan"}); }), "f:7:15: no field seconds.plan");
  EXPECT_EQ(line.text({"name"}), " b   c");
  EXPECT_EQ(testing::message_of<DataError>([] { JsonFields("f:1", "{\"a\": NaN}"); }).substr(0, 15), "f:1:7: not JSON");
}

TEST(JsonFields, AmountsAreZeroOrOfASizeThatCanBeMeasured) {
  const auto field = [](const char* value) { return JsonFields("f:1", fmt::format("{{\"a\": {}}}", value)); };
  for (const char* const good : {"0", "0.0", "1e-60", "1e60", "3"}) {
    EXPECT_TRUE(JsonFields::is_amount(field(good).at({"a"}))) << good;
    EXPECT_EQ(field(good).optional_number({"a"}), std::stod(good));
  }
  for (const char* const bad : {"-1", "-1e-9", "9e-61", "2e60", "\"3\"", "true", "[1]", "null"}) {
    EXPECT_FALSE(JsonFields::is_amount(field(bad).at({"a"}))) << bad;
    EXPECT_THROW(field(bad).number({"a"}), DataError) << bad;
  }
  EXPECT_THROW(field("1e400"), DataError);
}

TEST(JsonFields, WhatMayBeLeftOutMayBeNull) {
  const JsonFields line("f:1", R"({"a": null, "b": 2, "c": "d", "e": {"min": 1, "median": 2, "max": 3}})");
  for (const char* const name : {"a", "missing"}) {
    EXPECT_EQ(line.optional_number({name}), std::nullopt);
    EXPECT_EQ(line.optional_text({name}), "");
    EXPECT_FALSE(line.optional_spread({name}).has_value());
  }
  EXPECT_EQ(line.optional_number({"b"}), 2);
  EXPECT_EQ(line.optional_text({"c"}), "d");
  EXPECT_EQ(line.optional_spread({"e"})->median, 2);
  EXPECT_THROW(line.optional_number({"c"}), DataError);
  EXPECT_THROW(line.optional_text({"b"}), DataError);
}

TEST(TextForms, EscapeWhatEachFormTakesForMoreThanACharacter) {
  const Table table{"t", "C", {{"a", "ms", true}, {"b"}}, {{{Cell("1", 1), "x|<&`*[\\,\"\n"}}, {{"", "$#_{}%~^"}}}};
  const Document document{"T", "S", {{"s", "S", {table}}}};
  EXPECT_NE(to_markdown(document).find("x\\|&lt;&amp;\\`\\*\\[\\\\,\""), std::string::npos);
  EXPECT_EQ(to_csv(document, "t"), "a_ms,b\n1,\"x|<&`*[\\,\"\"\n\"\n,$#_{}%~^\n");
  EXPECT_NE(to_latex(document).find("- & \\$\\#\\_\\{\\}\\%\\textasciitilde{}\\textasciicircum{}"), std::string::npos);
  EXPECT_THROW(to_csv(document, "u"), UsageError);
}

TEST(TextForms, ATableOfSeveralPagesInLatexSaysThatItGoesOn) {
  const auto pages_that_continue = [](std::size_t rows) {
    const Table table{"t", "C", {{"a"}}, std::vector<Row>(rows, Row{{"x"}})};
    const std::string text = to_latex({"T", "S", {{"s", "S", {table}}}});
    std::size_t pages = 0;
    for (auto at = text.find("(continued)"); at != std::string::npos; at = text.find("(continued)", at + 1)) ++pages;
    return pages;
  };
  EXPECT_EQ(pages_that_continue(1), 0U);
  EXPECT_EQ(pages_that_continue(34), 0U);
  EXPECT_EQ(pages_that_continue(35), 1U);
  EXPECT_EQ(pages_that_continue(69), 2U);
}

Document small_document() {
  const Table table{"t",
                    "One of `n` rows.",
                    {{"name"}, {"time", "ms", true}, {"on"}},
                    {{{"first", Cell("1.5", 1.5), "ä"}}, {{"b", Cell(), "ä"}}}};
  const Table single{"u", "Alone.", {{"a"}, {"b", "", true}}, {{{"x", "1"}}}};
  return {"Title", "All of `x`.", {{"s", "Section", {Paragraph{"Some 100 %."}, table, Chart{}, single}}}};
}

TEST(TextForms, LatexHasColumnsThatVaryAndNamesTheOthersInTheCaption) {
  const std::string text = to_latex(small_document());
  const std::string begin = "\\begin{document}\n";
  EXPECT_EQ(text.substr(text.find(begin) + begin.size()), R"(\section*{Title}
All of \texttt{x}.

\subsection*{Section}
Some 100 \%.


\noindent\begin{minipage}{\linewidth}
One of \texttt{n} rows. In all rows: on ?.\par\smallskip
\fitted{\begin{tabular}{lr}
\hline
name & time (ms) \\
\hline
first & 1.5 \\
b & - \\
\hline
\end{tabular}}
\end{minipage}\par\bigskip

\noindent\begin{minipage}{\linewidth}
Alone.\par\smallskip
\fitted{\begin{tabular}{lr}
\hline
a & b \\
\hline
x & 1 \\
\hline
\end{tabular}}
\end{minipage}\par\bigskip
\end{document}
)");
}

TEST(TextForms, MarkdownAlignsNumbersRight) {
  EXPECT_EQ(to_markdown(small_document()), R"(# Title

All of `x`.

## Section

Some 100 %.

One of `n` rows.

| name  | time (ms) | on  |
| ----- | --------: | --- |
| first |       1.5 | ä   |
| b     |         - | ä   |

Alone.

| a   |   b |
| --- | --: |
| x   |   1 |
)");
}

TEST(TextForms, NamesOfCsvColumnsNeedNoQuotation) {
  const Table table{"t-table",
                    "C",
                    {{"rate", "TE/s"},
                     {"of the bound", "%"},
                     {"SM clock", "MHz"},
                     {"fp32 / below"},
                     {"with set-up", "TE/s"},
                     {"baseline's infer", "ms"},
                     {"1024 neurons, bias -0.3"},
                     {"temperature", "degrees Celsius"},
                     {"(x)"}},
                    {}};
  const Document document{"T", "S", {{"part", "S", {Paragraph{"p"}, table, Table{"u", "C", {{"other"}}, {}}}}}};
  const std::string names =
      "rate_TE_per_s,of_the_bound_percent,SM_clock_MHz,fp32_per_below,with_set-up_TE_per_s,baseline_s_infer_ms,"
      "1024_neurons_bias_-0.3,temperature_degrees_Celsius,x\n";
  for (const char* const name : {"t-table", "t", "part"}) EXPECT_EQ(to_csv(document, name), names) << name;
  EXPECT_EQ(to_csv(document, "u"), "other\n");
}

TEST(TextForms, NoTextOfAParagraphIsALinkOrAnImageInMarkdown) {
  const auto paragraph = [](const std::string& text) {
    const std::string page = to_markdown({"T", text, {{"s", "S", {Table{"t", text, {{"a"}}, {}}}}}});
    EXPECT_NE(page.find("\n\n" + page.substr(5, page.find('\n', 5) - 5) + "\n", 6), std::string::npos)
        << "the caption, too";
    return page.substr(5, page.find('\n', 5) - 5);
  };
  EXPECT_EQ(paragraph("a ![x](http://y) [z](http://y) *b* <i> & \\"),
            "a !\\[x](http://y) \\[z](http://y) \\*b\\* &lt;i> &amp; \\\\");
  EXPECT_EQ(paragraph("code `a[b]*` here"), "code `a[b]*` here");
  // Single and double backticks of foreign text: an unclosed or empty pair starts no code.
  EXPECT_EQ(paragraph("a ``[x](y) b"), "a \\[x](y) b");
  EXPECT_EQ(paragraph("a `b``c` d `[e"), "a `bc` d `[e`");
}

TEST(TextForms, CodeEndsInLatexWhereItsParagraphDoes) {
  EXPECT_NE(to_latex({"T", "a `b` c `d", {}}).find("a \\texttt{b} c \\texttt{d}\n"), std::string::npos);
  EXPECT_NE(to_latex({"T", "a `b` c", {}}).find("a \\texttt{b} c\n"), std::string::npos);
}

TEST(TextForms, NoLineOfAMarkdownParagraphBeginsABlock) {
  const std::string filler(119, 'x');
  for (const char* const word : {"#", "-", "1.", "12)", "+", ">", "==="}) {
    const std::string page = to_markdown({"T", filler + " " + word + " rest", {}});
    const std::string line = page.substr(page.find(filler) + filler.size() + 1);
    EXPECT_NE(line.find('\\'), std::string::npos) << line;
  }
  const std::string page = to_markdown({"T", filler + " `a # b` 7 rest", {}});
  EXPECT_NE(page.find("\n`a # b` 7 rest\n"), std::string::npos) << page;
  EXPECT_NE(to_markdown({"T", filler + " x\\`a b`", {}}).find("\nx\\\\`a b`\n"), std::string::npos) << "a backslash";
  EXPECT_NE(to_markdown({"T", filler + " 2.000 ms.", {}}).find("\n2.000 ms.\n"), std::string::npos);
}

TEST(TextForms, LinesOfAMarkdownParagraphEndAtColumn120) {
  std::string words = "a";
  for (int i = 1; i < 61; ++i) words += " a";
  EXPECT_NE(to_markdown({"T", words, {}}).find("\n" + words.substr(0, 119) + "\na\n"), std::string::npos);
}

TEST(TextForms, NoCellOfACsvIsAFormula) {
  Table table{"t", "C", {{"=a"}}, {}};
  for (const char* const text : {"-0.3", "-1e-05", "=1+1", "+a", "-a", "@a", "\ta", "\ra", " =\"a\"", "a=b", "-", ""})
    table.rows.push_back({{text}});
  EXPECT_EQ(to_csv({"T", "S", {{"s", "S", {table}}}}, "t"),
            "\"'=a\"\n-0.3\n-1e-05\n\"'=1+1\"\n\"'+a\"\n\"'-a\"\n\"'@a\"\n\"'\ta\"\n\"'\ra\"\n"
            "\"' =\"\"a\"\"\"\na=b\n\"'-\"\n\n");
}

}  // namespace
}  // namespace spdnn
