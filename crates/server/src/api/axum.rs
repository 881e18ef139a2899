//! axum takes the API as an argument of a handler, and what it answers as the handler's answer.

use super::{Api, ApiFailure, ApiResponse};
use crate::error::ApiError;
use axum_core::extract::FromRequestParts;
use axum_core::response::{IntoResponse, Response};
use hyper::http::request::Parts;

impl<S: Sync> FromRequestParts<S> for Api {
    type Rejection = ApiFailure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiFailure> {
        let api = parts.extensions.get::<Api>().cloned();
        api.ok_or_else(|| ApiFailure::of(ApiError::of_handler().hint("No server has put its API here."), false))
    }
}

impl IntoResponse for ApiResponse {
    fn into_response(self) -> Response {
        self.into_http().into_response()
    }
}

impl IntoResponse for ApiFailure {
    fn into_response(self) -> Response {
        self.into_http().into_response()
    }
}
