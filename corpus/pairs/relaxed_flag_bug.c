// Plain data published through a flag. The mistake: a relaxed store publishes nothing but itself.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

int data;
atomic_int ready;

static void *produce(void *unused) {
  data = 42;
  atomic_store_explicit(&ready, 1, memory_order_relaxed);
  return unused;
}

static void *consume(void *unused) {
  while (!atomic_load_explicit(&ready, memory_order_relaxed))
    ;
  assert(data == 42);
  return unused;
}

int main(void) {
  pthread_t producer, consumer;
  pthread_create(&producer, 0, produce, 0);
  pthread_create(&consumer, 0, consume, 0);
  pthread_join(producer, 0);
  pthread_join(consumer, 0);
  return 0;
}
