#include "xml_check.h"

#include <cctype>
#include <set>
#include <vector>

namespace samegrad {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view xml) : rest_(xml) {}

  std::string check() {
    if (!take("<?xml ")) return "no declaration";
    rest_.remove_prefix(rest_.find("?>") + 2);
    bool root_seen = false;
    while (!rest_.empty()) {
      if (rest_.front() != '<') {
        if (std::string problem = text(); !problem.empty()) return problem;
      } else if (rest_.starts_with("</")) {
        if (std::string problem = end_tag(); !problem.empty()) return problem;
      } else {
        if (open_.empty() && root_seen) return "second root";
        root_seen = true;
        if (std::string problem = start_tag(); !problem.empty()) return problem;
      }
    }
    if (!open_.empty()) return "not closed: " + open_.back();
    return root_seen ? "" : "no root";
  }

 private:
  bool take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void skip_blanks() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())) != 0) rest_.remove_prefix(1);
  }
  std::string name() {
    std::size_t length = 0;
    while (length < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[length])) != 0 ||
                                     rest_[length] == '-' || rest_[length] == ':' || rest_[length] == '_')) {
      ++length;
    }
    std::string result(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return result;
  }
  static std::string characters(std::string_view text) {
    for (std::size_t at = text.find_first_of("&<"); at != std::string_view::npos;
         at = text.find_first_of("&<", at + 1)) {
      bool entity = false;
      for (const char* known : {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"}) {
        entity = entity || text.substr(at).starts_with(known);
      }
      if (!entity) return "stray " + std::string(1, text[at]);
    }
    for (const char c : text) {
      if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' && c != '\r') return "control character";
    }
    return "";
  }
  std::string text() {
    const std::string_view content = rest_.substr(0, rest_.find('<'));
    rest_.remove_prefix(content.size());
    if (open_.empty() && content.find_first_not_of(" \n") != std::string_view::npos) return "text outside the root";
    return characters(content);
  }
  std::string end_tag() {
    take("</");
    const std::string closed = name();
    if (open_.empty() || open_.back() != closed) return "closes " + closed;
    open_.pop_back();
    return take(">") ? "" : "end tag of " + closed;
  }
  std::string start_tag() {
    take("<");
    const std::string element = name();
    if (element.empty()) return "no name";
    std::set<std::string> attributes;
    while (true) {
      skip_blanks();
      if (take("/>")) return "";
      if (take(">")) {
        open_.push_back(element);
        return "";
      }
      const std::string attribute = name();
      if (attribute.empty() || !take("=\"")) return "attribute in " + element;
      if (!attributes.insert(attribute).second) return "twice: " + attribute + " in " + element;
      const std::size_t end = rest_.find('"');
      if (end == std::string_view::npos) return "quote in " + element;
      if (std::string problem = characters(rest_.substr(0, end)); !problem.empty()) return problem;
      rest_.remove_prefix(end + 1);
    }
  }

  std::string_view rest_;
  std::vector<std::string> open_;
};

}  // namespace

std::string xml_problem(std::string_view xml) { return Reader(xml).check(); }

}  // namespace samegrad
