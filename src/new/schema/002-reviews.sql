create table api.reviews (
  id int generated always as identity primary key,
  book_id int not null references api.books on delete cascade,
  reader text not null check (length(reader) between 1 and 80),
  stars int not null check (stars between 1 and 5),
  text text not null check (length(text) <= 2000),
  written_at timestamptz not null default now()
);
create index on api.reviews (book_id);
comment on table api.reviews is 'What readers say about books';
comment on column api.reviews.stars is 'From 1 to 5';
-- What a visitor is told at the field of a form.
comment on constraint reviews_reader_check on api.reviews is 'A name has 1 to 80 characters.';
comment on constraint reviews_stars_check on api.reviews is 'There are one to five stars.';
comment on constraint reviews_text_check on api.reviews is 'A review has at most 2,000 characters.';

-- Visitors may read reviews and write new ones, and choose neither their numbers nor their times.
grant select, insert (book_id, reader, stars, text) on api.reviews to visitor;

insert into api.reviews (book_id, reader, stars, text)
select id, 'Ada', 5, 'The monster is the only one in it who reads.' from api.books where title = 'Frankenstein';
insert into api.reviews (book_id, reader, stars, text)
select id, 'Charles', 4, 'I laughed at the cheese, and I have been to Hampton Court since.' from api.books where author like 'Jerome%';
