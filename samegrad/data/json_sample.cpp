#include "samegrad/data/json_sample.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "samegrad/data/bad_line.h"

namespace samegrad {
namespace {

namespace dom = simdjson::dom;

constexpr std::array<std::string_view, 6> kRoles = {"system", "developer", "user", "assistant", "tool", "function"};
constexpr std::string_view kForms =
    "{text}, {prompt, completion}, {prompt, answer}, {messages}, {input_ids} or {input_ids, labels}";

enum class Form { kText, kCompletion, kAnswer, kMessages, kInputIds };

using Field = std::optional<dom::element>;

/// The fields of a line that count.
struct LineFields {
  Field text, prompt, completion, answer, messages, input_ids, labels, weight, document;
};

constexpr std::array<std::pair<std::string_view, Field LineFields::*>, 9> kFields = {{
    {"text", &LineFields::text},
    {"prompt", &LineFields::prompt},
    {"completion", &LineFields::completion},
    {"answer", &LineFields::answer},
    {"messages", &LineFields::messages},
    {"input_ids", &LineFields::input_ids},
    {"labels", &LineFields::labels},
    {"weight", &LineFields::weight},
    {"document", &LineFields::document},
}};

LineFields fields_of(const dom::object& line) {
  LineFields fields;
  for (const auto& [name, value] : line) {
    const auto known = std::ranges::find(kFields, name, [](const auto& field) { return field.first; });
    if (known != kFields.end()) fields.*(known->second) = value;
  }
  return fields;
}

Form form_of(const LineFields& line) {
  int fits = 0;
  Form last{};
  const auto add = [&](Form form) {
    ++fits;
    last = form;
  };
  if (line.text) add(Form::kText);
  if (line.prompt && line.completion) add(Form::kCompletion);
  if (line.prompt && line.answer) add(Form::kAnswer);
  if (line.messages) add(Form::kMessages);
  if (line.input_ids) add(Form::kInputIds);
  if (fits == 1) {
    return last;
  }
  if (fits > 1) {
    throw BadLine("the line fits " + std::to_string(fits) + " forms; exactly one is allowed of " + std::string(kForms));
  }
  if (line.prompt) {
    throw BadLine(R"(no field "completion" or "answer" beside "prompt")");
  }
  if (line.completion || line.answer) {
    throw BadLine("no field \"prompt\" beside the completion; give an empty one if there is none");
  }
  throw BadLine("the line has the fields of no form; allowed are " + std::string(kForms));
}

void message_tokens(dom::element messages, TokenSequence& sequence) {
  std::int64_t index = 0;
  for (const dom::element element : list_value(messages, "messages")) {
    const std::string place = "messages[" + std::to_string(index++) + "]";
    dom::object message;
    if (element.get(message) != simdjson::SUCCESS) {
      throw BadLine("\"" + place + R"(" is no object; it must be {"role", "content"})");
    }
    check_unique_fields(message);
    const std::string where = place + ".";
    const std::string_view role = text_value(field_of(message, "role", where), "role", where);
    const std::string_view content = text_value(field_of(message, "content", where), "content", where);
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
}

void id_tokens(const LineFields& line, std::int64_t vocabulary, TokenSequence& sequence) {
  append_integers(*line.input_ids, "input_ids", 0, vocabulary - 1, 0, sequence.tokens);
  if (line.labels) {
    append_integers(*line.labels, "labels", 0, vocabulary - 1, kIgnoreTarget, sequence.labels);
  } else {
    sequence.labels = sequence.tokens;
  }
  if (sequence.tokens.size() != sequence.labels.size()) {
    throw BadLine("\"input_ids\" has " + std::to_string(sequence.tokens.size()) + " ids and \"labels\" " +
                  std::to_string(sequence.labels.size()) + "; both must have the same number");
  }
}

void form_tokens(const LineFields& line, std::int64_t vocabulary, TokenSequence& sequence) {
  const Form form = form_of(line);
  if (form == Form::kInputIds) {
    id_tokens(line, vocabulary, sequence);
    return;
  }
  if (vocabulary < kByteVocabulary) {
    throw BadLine("text needs a vocabulary of " + std::to_string(kByteVocabulary) + " bytes; model.vocabulary is " +
                  std::to_string(vocabulary));
  }
  if (form == Form::kMessages) {
    message_tokens(*line.messages, sequence);
  } else if (form == Form::kText) {
    sequence.append_text(text_value(*line.text, "text"), /*supervised=*/true);
    sequence.append(kEndToken, /*supervised=*/true);
  } else {
    sequence.append_text(text_value(*line.prompt, "prompt"), /*supervised=*/false);
    sequence.append_completion(form == Form::kAnswer ? text_value(*line.answer, "answer")
                                                     : text_value(*line.completion, "completion"));
  }
}

}  // namespace

void json_tokens(JsonLine& parser, std::string_view line, std::int64_t vocabulary, TokenSequence& sequence) {
  sequence.clear();
  const LineFields fields = fields_of(parser.parse(line));
  form_tokens(fields, vocabulary, sequence);
  if (fields.weight) {
    sequence.weight = weight_value(*fields.weight, "weight");
  }
  if (fields.document) {
    sequence.document = name_value(*fields.document, "document");
  }
}

}  // namespace samegrad
