//! The images in a line of a log. Every agent writes them inline, in base64.

use serde_json::Value;

use crate::agent::Agent;

/// An image of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The block of the line that contains it, or `None` if only the line is known.
    pub block: Option<u32>,
    /// `image/png` and similar, as written in the log.
    pub media_type: String,
    /// In base64.
    pub data: String,
}

/// Returns the images of a line, in order. A line without any only costs a byte search.
pub fn images(agent: Agent, line: &[u8]) -> Vec<Image> {
    if memchr::memmem::find(line, b"image").is_none()
        || memchr::memmem::find(line, b"base64").is_none() && agent != Agent::Grok
    {
        return Vec::new();
    }
    let Ok(record) = serde_json::from_slice::<Value>(line) else {
        return Vec::new();
    };
    let mut images = Vec::new();
    match agent {
        // Claude repeats a result beside the message, in another form.
        Agent::Claude => {
            let blocks = record.pointer("/message/content").and_then(Value::as_array);
            for (at, block) in blocks.into_iter().flatten().enumerate() {
                collect_images(block, u32::try_from(at).ok(), &mut images);
            }
        }
        Agent::Codex => collect_images(record.get("payload").unwrap_or(&record), None, &mut images),
        Agent::Grok => {
            let content = record.pointer("/params/update/content").or(record.get("content"));
            collect_images(content.unwrap_or(&Value::Null), None, &mut images);
        }
    }
    images
}

fn collect_images(value: &Value, block: Option<u32>, images: &mut Vec<Image>) {
    match value {
        Value::Array(all) => all.iter().for_each(|one| collect_images(one, block, images)),
        Value::Object(map) => {
            let image = image_parts(value).map(|(media_type, data)| Image {
                block,
                media_type: media_type.to_owned(),
                data: data.to_owned(),
            });
            match image {
                Some(image) => images.push(image),
                None => map.values().for_each(|one| collect_images(one, block, images)),
            }
        }
        _ => {}
    }
}

/// Returns the type and the data of an object that is an image.
fn image_parts(value: &Value) -> Option<(&str, &str)> {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
    match text("/type")? {
        "image" if text("/source/type") == Some("base64") => Some((text("/source/media_type")?, text("/source/data")?)),
        "image" => Some((text("/mimeType")?, text("/data")?)),
        "input_image" => text("/image_url")?.strip_prefix("data:")?.split_once(";base64,"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print_images(agent: Agent, line: &str) -> String {
        let one = |image: Image| format!("{:?} {} {}", image.block, image.media_type, image.data);
        images(agent, line.as_bytes())
            .into_iter()
            .map(one)
            .collect::<Vec<_>>()
            .join("; ")
    }

    #[test]
    fn images_of_every_agent_are_found() {
        let source = r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}"#;
        let claude = format!(
            r#"{{"message":{{"content":[{{"type":"text","text":"see"}},{source},{{"type":"tool_result","content":[{source}]}}]}},"toolUseResult":{source}}}"#
        );
        assert_eq!(
            print_images(Agent::Claude, &claude),
            "Some(1) image/png AAAA; Some(2) image/png AAAA"
        );
        let codex = r#"{"payload":{"type":"message","content":[{"type":"input_image","image_url":"data:image/jpeg;base64,BBBB"}]}}"#;
        assert_eq!(print_images(Agent::Codex, codex), "None image/jpeg BBBB");
        let grok = r#"{"params":{"update":{"content":{"type":"image","mimeType":"image/webp","data":"CCCC"}}}}"#;
        assert_eq!(print_images(Agent::Grok, grok), "None image/webp CCCC");
        assert_eq!(
            print_images(
                Agent::Claude,
                r#"{"type":"user","message":{"content":"an image in base64"}}"#
            ),
            ""
        );
        assert_eq!(print_images(Agent::Codex, "{ image base64"), "");
    }
}
