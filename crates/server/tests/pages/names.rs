//! Names in templates: what a page finds, what nothing defines, and what only some of its rows have.

use super::{database, page, serve, site};
use crate::served::config;
use thalweg_server::{Config, Server};

#[test]
fn names_that_nothing_defines_stop_the_start() {
    let database = database();
    for (page, wrong) in [
        ("\n{{ fligth }}", "a.html:2:4: a.html has no fligth"),
        ("{{ request.adress }}", "a.html:1:12: request has no adress; perhaps address is meant"),
        ("{{ form.erorrs.title }}", "a.html:1:9: form has no erorrs; perhaps errors is meant"),
        ("{{ form.errors.title.cod }}", "what form.errors holds has no cod; perhaps code is meant"),
        ("{% if is_singed_in %}{% endif %}", "perhaps is_signed_in is meant"),
        ("{{ error.mesage }}", "error has no mesage; perhaps message is meant"),
        ("{% for x in [1] %}{{ loop.indx }}{% endfor %}", "loop has no indx; perhaps index is meant"),
        ("{{ statik('a.css') }}", "a.html has no statik; perhaps static is meant"),
        ("{% if false %}{{ 'a'|truncat(3) }}{% endif %}", "a.html:1:22: no filter is called truncat"),
        ("{% filter shout %}a{% endfilter %}", "no filter is called shout"),
        ("{{ 1 is prime }}", "no test is called prime"),
    ] {
        let folder = site(&[("a.html", page)]);
        let config = Config { pages_dir: Some(folder.path().to_owned()), ..config(&database.uri()) };
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let ended =
            runtime.block_on(async { Server::builder(config).start().await?.serve(std::future::pending()).await });
        let said = ended.unwrap_err().to_string();
        assert!(said.contains(wrong), "{page}: {said}");
    }
}

/// Before, only a missing table was reported.
#[test]
fn a_misspelled_key_of_a_head_is_named() {
    let database = database();
    for (head, wrong) in [
        ("sing_in = \"/sign_in\"", "sing_in is read as the name of a query, perhaps sign_in is meant"),
        ("sign_in = \"/sign_in\"\nfrom = \"/absent\"", "from is read as the name of a query, perhaps form is meant"),
        ("froms = \"/rpc/absent\"", "froms is read as the name of a query, perhaps forms is meant"),
    ] {
        let folder = site(&[("a.html", &format!("+++\n{head}\n+++\n"))]);
        let config = Config { pages_dir: Some(folder.path().to_owned()), ..config(&database.uri()) };
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let ended =
            runtime.block_on(async { Server::builder(config).start().await?.serve(std::future::pending()).await });
        let said = ended.unwrap_err().to_string();
        assert!(said.contains(wrong), "{head}: {said}");
    }
    // A query that exists may have any name.
    assert_eq!(page(&database, "+++\nfrom = \"/flights?order=id\"\n+++\n{{ from|length }}"), "3");
}

#[test]
fn what_pages_find_is_what_their_names_are_held_against() {
    let database = database();
    let page = "{{ locale }},{{ zone is string }},{{ claims.role }},{{ role }},{{ is_signed_in }},{{ error is defined }},\
        {{ request.path }},{{ request.address }},{{ request.method }},{{ request.query.q }},{{ id }},\
        {{ form.name is defined }},{{ form.values|length }},{{ form.errors|length }},{{ form.error is none }}\n\
        {% for name in request %}{{ name }} {% endfor %}{% for name in form %}{{ name }} {% endfor %}";
    let error = "{{ error.status }} {{ error.details is defined }} {{ error.hint is defined }}:\
        {% for name in error %} {{ name }}{% endfor %}";
    let (served, _folder) = serve(&database, &[("of/[id].html", page), ("404.html", error)]);
    assert_eq!(
        served.get("/of/7?q=x").text(),
        "en,true,test_reader,test_reader,false,false,/of/7,/of/7?q=x,GET,x,7,true,0,0,true\n\
         path address method query name values errors error "
    );
    assert_eq!(served.get("/absent").text(), "404 false false: status message code");
}

#[test]
fn a_template_may_be_given_rows_of_several_kinds() {
    let database = database();
    let text = page(
        &database,
        "+++\nflights = \"/flights?select=*,pilots(*)&order=id\"\npilots = \"/pilots?order=id\"\n+++\n\
         {% for list in flights|groupby('pilot_id')|map('last') %}{% for f in list %}{{ f.id }}{{ f.title }};{% endfor %}{% endfor %}\n\
         {% for row in flights recursive %}{{ row.title }}{{ row.name }}({{ loop([row.pilots]) if row.pilots }}){% endfor %}\n\
         {% for row in flights[:1] %}{{ 'title' in row }}{{ 'nothing' in row }}{% endfor %}\n\
         {% macro card(row) %}{{ row.title }}{{ row.name }};{% endmacro %}{{ card(flights[0]) }}{{ card(pilots[1]) }}",
    );
    assert_eq!(
        text,
        "1First;2&lt;b&gt;Second&lt;/b&gt;;3Third, &quot;quoted&quot;;\n\
         First(Anna &amp; Co())&lt;b&gt;Second&lt;/b&gt;(Anna &amp; Co())Third, &quot;quoted&quot;(Ben())\n\
         truefalse\n\
         First;Ben;"
    );
}
