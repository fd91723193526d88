// The forms that a line of a .jsonl file may have. Exactly one must fit. Beside it a line may have a "weight" (a finite
// number of at least 0; without it 1) and a "document" (text or an integer: lines with the same one are one document;
// without it a line is one by itself). Other fields are ignored.
//
//   {"text"}                    all supervised; an end token follows
//   {"prompt","completion"}     the completion and the end token after it are supervised; an empty completion
//   {"prompt","answer"}         supervises nothing, not even the end token
//   {"messages":[{"role","content"},...]}
//                               every message becomes "<role>: <content>\n", where after an assistant's content stands
//                               an end token; only that content and that end token are supervised (an empty content:
//                               nothing). Roles: system, developer, user, assistant, tool, function
//   {"input_ids"}, {"input_ids","labels"}
//                               ids 0..vocabulary-1 as they are, no end token added; labels[i] is the target for
//                               predicting position i, -100 none; without labels all are supervised
#pragma once

#include <cstdint>
#include <string_view>

#include "samegrad/data/byte_tokens.h"
#include "samegrad/data/json_line.h"

namespace samegrad {

/// The tokens of one line, in place of what `sequence` held. Throws BadLine with the reason. Local.
void json_tokens(JsonLine& parser, std::string_view line, std::int64_t vocabulary, TokenSequence& sequence);

}  // namespace samegrad
