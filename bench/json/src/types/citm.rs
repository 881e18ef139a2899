//! `citm_catalog.json`: a season's events, with maps by number and much white space.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thalweg_json::{FromJson, ToJson};

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
#[serde(rename_all = "camelCase")]
pub struct Catalog {
    area_names: BTreeMap<String, String>,
    audience_sub_category_names: BTreeMap<String, String>,
    block_names: BTreeMap<String, String>,
    events: BTreeMap<String, Event>,
    performances: Vec<Performance>,
    seat_category_names: BTreeMap<String, String>,
    sub_topic_names: BTreeMap<String, String>,
    subject_names: BTreeMap<String, String>,
    topic_names: BTreeMap<String, String>,
    topic_sub_topics: BTreeMap<String, Vec<u32>>,
    venue_names: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
#[serde(rename_all = "camelCase")]
struct Event {
    description: Option<String>,
    id: u32,
    logo: Option<String>,
    name: String,
    sub_topic_ids: Vec<u32>,
    subject_code: Option<String>,
    subtitle: Option<String>,
    topic_ids: Vec<u32>,
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
#[serde(rename_all = "camelCase")]
struct Performance {
    event_id: u32,
    id: u32,
    logo: Option<String>,
    name: Option<String>,
    prices: Vec<Price>,
    seat_categories: Vec<SeatCategory>,
    seat_map_image: Option<String>,
    start: u64,
    venue_code: String,
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
#[serde(rename_all = "camelCase")]
struct Price {
    amount: u32,
    audience_sub_category_id: u32,
    seat_category_id: u32,
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
#[serde(rename_all = "camelCase")]
struct SeatCategory {
    areas: Vec<Area>,
    seat_category_id: u32,
}

#[derive(Serialize, Deserialize, ToJson, FromJson, PartialEq, Debug)]
#[serde(rename_all = "camelCase")]
struct Area {
    area_id: u32,
    block_ids: Vec<u32>,
}
