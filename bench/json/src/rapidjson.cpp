// RapidJSON as it is used: a document parsed into its values, and written from them.
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

extern "C" {
size_t rapidjson_parse(const char *text, size_t length) {
    rapidjson::Document document;
    document.Parse(text, length);
    return document.HasParseError() ? 0 : 1;
}

void *rapidjson_document(const char *text, size_t length) {
    auto *document = new rapidjson::Document();
    document->Parse(text, length);
    return document;
}

size_t rapidjson_write(const void *document) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    static_cast<const rapidjson::Document *>(document)->Accept(writer);
    return buffer.GetSize();
}
}
