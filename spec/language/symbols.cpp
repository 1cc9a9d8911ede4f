#include "spec/language/syntax.h"

namespace ulpian::language {

SymbolTable::SymbolTable() {
  chunks_[0] = new std::string[ChunkSize];
  size_ = 1;  // NoSymbol
}

SymbolTable::~SymbolTable() {
  for (auto& c : chunks_) delete[] c.load();
}

Symbol SymbolTable::intern(std::string_view name) {
  const std::lock_guard lock(mutex_);
  auto it = ids_.find(name);
  if (it != ids_.end()) return it->second;
  const auto id = static_cast<Symbol>(size_);
  ensure(size_ < ChunkSize * MostChunks, "more than a million names");
  auto& chunk = chunks_[id / ChunkSize];
  if (!chunk.load()) chunk.store(new std::string[ChunkSize], std::memory_order_release);
  std::string& slot = chunk.load()[id % ChunkSize];
  slot = name;
  ids_.emplace(slot, id);
  ++size_;
  return id;
}

Symbol SymbolTable::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  auto it = ids_.find(name);
  return it == ids_.end() ? NoSymbol : it->second;
}

}  // namespace ulpian::language
