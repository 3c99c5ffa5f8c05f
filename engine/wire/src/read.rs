//! Getting one object, and listing many, a page at a time where that is wanted.
//!
//! The pages of one list show how things stood at the first of them. Where that is no longer known the client is told
//! so (410) with a mark by which it may read on in what stands by then.

use std::sync::Arc;

use axum::Json;
use axum::response::{IntoResponse, Response};
use hearth_engine::store::{Page, PageError};
use hearth_engine::{Key, Object};

use crate::failure::Failure;
use crate::options;
use crate::paging::{ListMeta, Mark};
use crate::parameters::Match;
use crate::projection::Projection;
use crate::target::Call;

/// One object, in the form that is wanted.
pub(crate) fn get(call: &Call<'_>) -> Result<Response, Failure> {
    let newest = call.store().resource_version();
    if let Some(asked) = call.parameters.resource_version.filter(|asked| *asked > newest) {
        return Err(Failure::not_yet(asked, newest));
    }
    let object = call.store().get(&call.key()).ok_or_else(|| Failure::not_found(call.kind, call.name()))?;
    Ok(Json(Projection::of(call).one(&object)).into_response())
}

/// All objects the query asks for, or a page of them, as they stand at one resourceVersion.
pub(crate) fn list(call: &Call<'_>) -> Result<Response, Failure> {
    let (items, meta) = listed(call)?;
    Ok(Json(Projection::of(call).many(&items, &meta)).into_response())
}

/// The objects a list is asked for, and what is said beside them.
pub(crate) fn listed(call: &Call<'_>) -> Result<(Vec<Arc<Object>>, ListMeta), Failure> {
    options::check_list(&call.parameters)?;
    let mark = call.parameters.next.as_deref().map(Mark::decode).transpose()?;
    let choice = call.choice();
    let mut page = page_for(call, mark.as_ref())?;
    if choice.is_some() {
        // How many of a page would be left is not known before all are shown.
        page.limit = None;
    }
    let mut paged = call.store().page(&call.query(), &page).map_err(|error| match (error, mark) {
        (PageError::NotYet { asked, newest }, _) => Failure::not_yet(asked, newest),
        (PageError::Expired(_), Some(mark)) => Failure::page_expired(&mark.in_what_stands()),
        (PageError::Expired(expired), None) => {
            let asked = expired.asked;
            Failure::expired(format!(
                "the list as it stood at resourceVersion {asked} is no longer kept; ask without it"
            ))
        }
    })?;
    if let Some(choice) = choice {
        paged.items.retain(|object| choice.takes(object));
    }
    let last = paged.items.last().filter(|_| paged.has_more);
    let next = last.map(|last| {
        let Key { namespace, name, .. } = last.key();
        Mark::new(paged.resource_version, [namespace, name], paged.left)
    });
    let meta = ListMeta { version: paged.resource_version, next, left: paged.left };
    Ok((paged.items, meta))
}

fn page_for(call: &Call<'_>, mark: Option<&Mark>) -> Result<Page, Failure> {
    let limit = call.parameters.limit;
    if let Some(mark) = mark {
        let [namespace, name] = mark.after.clone();
        if call.target.namespace.as_ref().is_some_and(|wanted| *wanted != namespace) {
            return Err(Failure::bad_request(
                "continue: this mark is of a list in another place; bring it back to where it came from",
            ));
        }
        let after = Some(Key::new(call.stored(), namespace, name));
        return Ok(Page { at: mark.at, after, limit, left: mark.left });
    }
    let asked = call.parameters.resource_version.filter(|version| *version > 0);
    let newest = call.store().resource_version();
    let at = match call.parameters.resource_version_match {
        Some(Match::Exact) => asked,
        // Who asks for pages from a version without saying how means just that version.
        None if limit.is_some() => asked,
        // What stands is never older than what was given out.
        Some(Match::NotOlderThan) | None => asked.filter(|version| *version > newest),
    };
    Ok(Page { at, after: None, limit, left: None })
}
