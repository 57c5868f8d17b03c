/* A photo viewer. One thread draws the thumbnails of the open album, another closes the album when the user has seen
 * enough. Whoever has the album open last puts it away. Both say in the status bar what they do.
 */
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace {

class Album {
public:
    explicit Album(int count) : photos(count) {}
    ~Album() { photos = 0; }
    int count() const { return photos; }

private:
    volatile int photos;
};

int thumbnails;

std::mutex status_lock;
const char *status;

void show_status(const char *text)
{
    std::lock_guard<std::mutex> guard(status_lock);
    status = text;
}

void draw(std::shared_ptr<const Album> album)
{
    thumbnails = album->count();
    show_status("drawn");
}

void close_album(std::shared_ptr<const Album> album)
{
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // the user looks at the photos
    show_status("closing");
    album.reset();
}

} // namespace

int main()
{
    auto album = std::make_shared<const Album>(24);
    std::thread drawing(draw, album);
    std::thread closing(close_album, std::move(album));
    drawing.join();
    closing.join();

    std::printf("%s, %d thumbnails\n", status, thumbnails);
    return thumbnails == 24 ? 0 : 1;
}
