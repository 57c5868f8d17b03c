// What is in types of the C++ library has the names of the source.
#include <array>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

struct Account {
    int id;
    long balance;
};

struct Bank {
    std::vector<Account> accounts;
    long total = 0;
};

static std::vector<Account> accounts(3);
static std::map<std::string, Account> ledger;
std::array<Account, 2> pairs;
static std::shared_ptr<Account> shared = std::make_shared<Account>();

static void visit(long *counts, Bank *bank) {
    accounts[1].balance++;
    ledger.begin()->second.balance++;
    pairs[1].balance++;
    shared->balance++;
    counts[1]++;
    bank->total++;
}

int main() {
    ledger["a"] = Account();
    long counts[3] = {0, 0, 0};
    Bank bank;
    std::thread first(visit, counts, &bank);
    first.join();
    std::thread second(visit, counts, &bank);
    second.join();
    // The library's operator calls another one.
    Account *spare = new (std::nothrow) Account();
    std::thread third([spare] { spare->balance = 1; });
    third.join();
    spare->balance = 2;
    delete spare;
}
