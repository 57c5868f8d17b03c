// Plain data published through a relaxed flag. The mistake: the acquire fence comes before the load.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

int data;
atomic_int ready;

static void *produce(void *unused) {
  data = 42;
  atomic_thread_fence(memory_order_release);
  atomic_store_explicit(&ready, 1, memory_order_relaxed);
  return unused;
}

static void *consume(void *unused) {
  atomic_thread_fence(memory_order_acquire);
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
