//! `canada.json`: an outline, nearly all floats.

use serde::{Deserialize, Serialize};
use thalweg_json::{FromJson, ToJson};

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
pub struct Canada {
    r#type: String,
    features: Vec<Feature>,
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
struct Feature {
    r#type: String,
    properties: Properties,
    geometry: Geometry,
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
struct Properties {
    name: String,
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
struct Geometry {
    r#type: String,
    coordinates: Vec<Vec<(f64, f64)>>,
}
