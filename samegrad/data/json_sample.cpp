#include "samegrad/data/json_sample.h"

#include <algorithm>
#include <array>
#include <string>

#include "samegrad/data/bad_line.h"

namespace samegrad {
namespace {

namespace dom = simdjson::dom;

constexpr std::array<std::string_view, 6> kRoles = {"system", "developer", "user", "assistant", "tool", "function"};
constexpr std::string_view kForms =
    "{text}, {prompt, completion}, {prompt, answer}, {messages}, {input_ids} or {input_ids, labels}";

enum class Form { kText, kCompletion, kAnswer, kMessages, kInputIds };

Form form_of(const dom::object& line) {
  int fits = 0;
  Form last{};
  const auto add = [&](Form form) {
    ++fits;
    last = form;
  };
  const bool prompt = has_field(line, "prompt");
  if (has_field(line, "text")) add(Form::kText);
  if (prompt && has_field(line, "completion")) add(Form::kCompletion);
  if (prompt && has_field(line, "answer")) add(Form::kAnswer);
  if (has_field(line, "messages")) add(Form::kMessages);
  if (has_field(line, "input_ids")) add(Form::kInputIds);
  if (fits == 1) {
    return last;
  }
  if (fits > 1) {
    throw BadLine("the line fits " + std::to_string(fits) + " forms; exactly one is allowed of " + std::string(kForms));
  }
  if (prompt) {
    throw BadLine(R"(no field "completion" or "answer" beside "prompt")");
  }
  if (has_field(line, "completion") || has_field(line, "answer")) {
    throw BadLine("no field \"prompt\" beside the completion; give an empty one if there is none");
  }
  throw BadLine("the line has the fields of no form; allowed are " + std::string(kForms));
}

TokenSequence message_tokens(const dom::object& line) {
  TokenSequence sequence;
  std::int64_t index = 0;
  for (const dom::element element : array_field(line, "messages")) {
    const std::string place = "messages[" + std::to_string(index++) + "]";
    dom::object message;
    if (element.get(message) != simdjson::SUCCESS) {
      throw BadLine("\"" + place + R"(" is no object; it must be {"role", "content"})");
    }
    check_unique_fields(message);
    const std::string_view role = string_field(message, "role", place + ".");
    const std::string_view content = string_field(message, "content", place + ".");
    if (std::find(kRoles.begin(), kRoles.end(), role) == kRoles.end()) {
      throw BadLine("\"" + place + ".role\" is " + quoted(role) +
                    "; allowed are system, developer, user, assistant, tool and function");
    }
    sequence.append_text(role, /*supervised=*/false);
    sequence.append_text(": ", /*supervised=*/false);
    if (role == "assistant") {
      sequence.append_completion(content);
    } else {
      sequence.append_text(content, /*supervised=*/false);
    }
    sequence.append_text("\n", /*supervised=*/false);
  }
  if (index == 0) {
    throw BadLine("\"messages\" is empty; at least one message is needed");
  }
  return sequence;
}

TokenSequence id_tokens(const dom::object& line, std::int64_t vocabulary) {
  TokenSequence sequence;
  sequence.tokens = integers_field(line, "input_ids", 0, vocabulary - 1, 0);
  sequence.labels =
      has_field(line, "labels") ? integers_field(line, "labels", 0, vocabulary - 1, kIgnoreTarget) : sequence.tokens;
  if (sequence.tokens.size() != sequence.labels.size()) {
    throw BadLine("\"input_ids\" has " + std::to_string(sequence.tokens.size()) + " ids and \"labels\" " +
                  std::to_string(sequence.labels.size()) + "; both must have the same number");
  }
  return sequence;
}

TokenSequence form_tokens(const dom::object& object, std::int64_t vocabulary) {
  const Form form = form_of(object);
  if (form == Form::kInputIds) {
    return id_tokens(object, vocabulary);
  }
  if (vocabulary < kByteVocabulary) {
    throw BadLine("text needs a vocabulary of " + std::to_string(kByteVocabulary) + " bytes; model.vocabulary is " +
                  std::to_string(vocabulary));
  }
  if (form == Form::kMessages) {
    return message_tokens(object);
  }
  TokenSequence sequence;
  if (form == Form::kText) {
    sequence.append_text(string_field(object, "text"), /*supervised=*/true);
    sequence.append(kEndToken, /*supervised=*/true);
  } else {
    sequence.append_text(string_field(object, "prompt"), /*supervised=*/false);
    sequence.append_completion(string_field(object, form == Form::kAnswer ? "answer" : "completion"));
  }
  return sequence;
}

}  // namespace

TokenSequence json_tokens(JsonLine& parser, std::string_view line, std::int64_t vocabulary) {
  const dom::object object = parser.parse(line);
  TokenSequence sequence = form_tokens(object, vocabulary);
  if (has_field(object, "weight")) {
    sequence.weight = weight_field(object, "weight");
  }
  if (has_field(object, "document")) {
    sequence.document = name_field(object, "document");
  }
  return sequence;
}

}  // namespace samegrad
