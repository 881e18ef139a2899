//! What kind of file a name says it is.

/// What is sent of a file that is of no known kind.
const UNKNOWN: (&str, bool) = ("application/octet-stream", false);

/// By extension: the media type, and whether it is worth compressing. These are what sites are made of, a tenth of what
/// registries list, and each is one that browsers act on.
const KNOWN: &[(&str, &str, bool)] = &[
    ("aac", "audio/aac", false),
    ("apng", "image/apng", false),
    ("atom", "application/atom+xml", true),
    ("avif", "image/avif", false),
    ("bmp", "image/bmp", true),
    ("cjs", "text/javascript; charset=utf-8", true),
    ("css", "text/css; charset=utf-8", true),
    ("csv", "text/csv; charset=utf-8", true),
    ("eot", "application/vnd.ms-fontobject", true),
    ("epub", "application/epub+zip", false),
    ("flac", "audio/flac", false),
    ("geojson", "application/geo+json", true),
    ("gif", "image/gif", false),
    ("glb", "model/gltf-binary", true),
    ("gltf", "model/gltf+json", true),
    ("gpx", "application/gpx+xml", true),
    ("gz", "application/gzip", false),
    ("htm", "text/html; charset=utf-8", true),
    ("html", "text/html; charset=utf-8", true),
    ("ico", "image/x-icon", true),
    ("ics", "text/calendar; charset=utf-8", true),
    ("jpeg", "image/jpeg", false),
    ("jpg", "image/jpeg", false),
    ("js", "text/javascript; charset=utf-8", true),
    ("json", "application/json", true),
    ("jsonld", "application/ld+json", true),
    ("jxl", "image/jxl", false),
    ("kml", "application/vnd.google-earth.kml+xml", true),
    ("m4a", "audio/mp4", false),
    ("m4v", "video/mp4", false),
    ("map", "application/json", true),
    ("md", "text/markdown; charset=utf-8", true),
    ("mjs", "text/javascript; charset=utf-8", true),
    ("mov", "video/quicktime", false),
    ("mp3", "audio/mpeg", false),
    ("mp4", "video/mp4", false),
    ("oga", "audio/ogg", false),
    ("ogg", "audio/ogg", false),
    ("ogv", "video/ogg", false),
    ("opus", "audio/ogg", false),
    ("otf", "font/otf", true),
    ("pdf", "application/pdf", false),
    ("png", "image/png", false),
    ("rss", "application/rss+xml", true),
    ("svg", "image/svg+xml", true),
    ("tar", "application/x-tar", false),
    ("tif", "image/tiff", false),
    ("tiff", "image/tiff", false),
    ("ttf", "font/ttf", true),
    ("txt", "text/plain; charset=utf-8", true),
    ("vtt", "text/vtt; charset=utf-8", true),
    ("wasm", "application/wasm", true),
    ("wav", "audio/wav", false),
    ("webm", "video/webm", false),
    ("webmanifest", "application/manifest+json", true),
    ("webp", "image/webp", false),
    ("woff", "font/woff", false),
    ("woff2", "font/woff2", false),
    ("xhtml", "application/xhtml+xml", true),
    ("xml", "application/xml", true),
    ("zip", "application/zip", false),
];

/// The media type of a file by its name, and whether it is worth compressing.
pub(super) fn of(name: &str) -> (&'static str, bool) {
    let file = name.rsplit('/').next().unwrap_or(name);
    let Some((_, extension)) = file.rsplit_once('.') else { return UNKNOWN };
    let known = KNOWN.iter().find(|(known, ..)| known.eq_ignore_ascii_case(extension));
    known.map_or(UNKNOWN, |&(_, media_type, is_compressible)| (media_type, is_compressible))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_extension_counts_in_any_case() {
        for (name, media_type) in [
            ("a/style.min.CSS", "text/css; charset=utf-8"),
            ("app.js.gz", "application/gzip"),
            ("a.css/LICENSE", "application/octet-stream"),
            ("style.css.br", "application/octet-stream"),
            ("css", "application/octet-stream"),
            ("x.", "application/octet-stream"),
        ] {
            assert_eq!(of(name).0, media_type, "{name}");
        }
    }

    #[test]
    fn each_extension_stands_there_once() {
        assert!(KNOWN.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn text_says_how_it_is_encoded() {
        assert!(KNOWN.iter().all(|known| known.1.starts_with("text/") == known.1.ends_with("; charset=utf-8")));
    }
}
