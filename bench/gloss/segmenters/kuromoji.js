// The words that kuromoji finds in a file, a line each: the line's number, where it begins, surface, dictionary form, part of speech.
const fs = require("fs");
const path = require("path");
const kuromoji = require("kuromoji");

const dictionary = path.join(path.dirname(require.resolve("kuromoji/package.json")), "dict");
kuromoji.builder({ dicPath: dictionary }).build((error, tokenizer) => {
  if (error) throw error;
  const lines = fs.readFileSync(process.argv[2], "utf8").split("\n");
  lines.forEach((line, number) => {
    let start = 0;
    for (const token of tokenizer.tokenize(line)) {
      const base = token.basic_form === "*" ? token.surface_form : token.basic_form;
      const part = [token.pos, token.pos_detail_1, token.pos_detail_2].join("-");
      console.log([number, start, token.surface_form, base, base, part].join("\t"));
      start += [...token.surface_form].length;
    }
  });
});
