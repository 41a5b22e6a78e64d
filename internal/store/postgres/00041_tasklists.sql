-- Lists of tasks read each state in its order, no further than what they show.
CREATE INDEX tasks_listed ON tasks (state, priority, n) WHERE ended_at = 0;
CREATE INDEX tasks_ended ON tasks (state, ended_at, n) WHERE ended_at > 0;

UPDATE meta SET value = '41' WHERE key = 'schema';
