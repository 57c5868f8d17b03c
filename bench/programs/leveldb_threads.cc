// Threads that write to and read from one LevelDB database while it compacts in the background: leveldb_threads DIRECTORY
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "leveldb/db.h"

int main(int count, char **arguments) {
  const std::string name = count > 1 ? arguments[1] : "numbers";
  leveldb::DestroyDB(name, leveldb::Options());
  leveldb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 64 << 10;
  leveldb::DB *database = nullptr;
  if (!leveldb::DB::Open(options, name, &database).ok()) return 1;
  auto work = [database](int thread) {
    const std::string filler(2000, 'x');
    for (int round = 0; round < 40; round++) {
      const std::string key = std::to_string(thread * 1000 + round);
      std::string value;
      if (!database->Put(leveldb::WriteOptions(), key, filler).ok()) std::exit(1);
      if (!database->Get(leveldb::ReadOptions(), key, &value).ok() || value != filler) std::exit(1);
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; thread++) threads.emplace_back(work, thread);
  for (std::thread &thread : threads) thread.join();
  delete database;
  return 0;
}
