package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// passes records how often each point is passed in each scene.
type passes map[string]map[string]int // point → scene → times

// rehearse plays every scene without a crash and records which points it passes. A
// scene that fails by itself is red at once.
func (o options) rehearse(ctx context.Context, t *table, names []string) (passes, error) {
	known := passes{}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(o.jobs)
	for _, s := range scenes() {
		if o.scene != "" && s.name != o.scene {
			continue
		}
		g.Go(func() error {
			began := time.Now()
			r, err := o.perform(ctx, s, 1, "")
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			for _, p := range names {
				if n := r.passed(p); n > 0 {
					if known[p] == nil {
						known[p] = map[string]int{}
					}
					known[p][s.name] = n
				}
			}
			c := r.counts()
			t.add(row{kind: "scene", name: s.name, counts: c, bad: c.red > 0, note: o.clear(r) + fmt.Sprintf(" %.1f s", time.Since(began).Seconds())})
			return nil
		})
	}
	return known, g.Wait()
}

// perform plays a scene in a fresh home; plan is what the chaos build obeys.
func (o options) perform(ctx context.Context, s scene, seed uint64, plan string) (*run, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r, err := o.newRun("", seed)
	if err != nil {
		return nil, err
	}
	if plan != "" {
		r.kills = 1
		if err := r.tell("plan", plan); err != nil {
			return nil, errors.Join(err, os.RemoveAll(r.dir))
		}
	}
	r.play(s)
	r.finish()
	return r, nil
}

// clear removes a green home; it keeps a red one and says where.
func (o options) clear(r *run) string {
	r.close()
	defer r.dropDatabase()
	if len(r.wrong) == 0 {
		_ = os.RemoveAll(r.dir)
		return ""
	}
	if !o.keep {
		_ = os.RemoveAll(r.dir)
		return r.wrong[0]
	}
	list := strings.Join(r.wrong, "\n")
	r.dumpDatabase()
	_ = os.WriteFile(r.dir+"/wrong", []byte(list+"\n"), 0o600)
	return fmt.Sprintf("%s: %s", r.dir, r.wrong[0])
}

// sweep has the group kill a process at every point, for every seed.
func (o options) sweep(ctx context.Context, g *errgroup.Group, t *table) error {
	names, err := points(o.source)
	if err != nil {
		return err
	}
	known, err := o.rehearse(ctx, t, names)
	if err != nil {
		return err
	}
	for _, p := range names {
		switch {
		case !strings.HasPrefix(p, o.point):
		case len(known[p]) > 0:
			o.try(ctx, g, t, p, known[p])
		case o.scene == "":
			why := o.never(p)
			t.add(row{kind: "point", name: p, bad: why == "", note: orElse(why, "no scene passes it")})
		}
	}
	return nil
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// try has the group kill a process at one point, once per seed. The row is complete
// when the last of these runs is over; nothing waits for it.
func (o options) try(ctx context.Context, g *errgroup.Group, t *table, point string, where map[string]int) {
	var among []scene
	for _, s := range scenes() {
		if where[s.name] > 0 {
			among = append(among, s)
		}
	}
	var mu sync.Mutex
	out := row{kind: "point", name: point}
	for i := range o.seeds {
		g.Go(func() error {
			// The seed determines the scene and the pass in it, so that several runs
			// which share the seeds of a long one try different ones.
			seed := o.seed + uint64(i)
			turn := int(seed-1) % (1 << 30)
			s := among[turn%len(among)]
			n := 1 + turn/len(among)%where[s.name]
			r, err := o.perform(ctx, s, seed, fmt.Sprintf("%s %d kill", point, n))
			if err != nil {
				return err
			}
			c := r.counts()
			if r.passed(point) >= n {
				c.fired = 1
			}
			note := o.clear(r)
			mu.Lock()
			defer mu.Unlock()
			out.counts.add(c)
			if note != "" && out.note == "" {
				out.note = fmt.Sprintf("scene %s seed %d pass %d: %s", s.name, seed, n, note)
			}
			if out.runs == o.seeds {
				t.add(out.judged())
			}
			return nil
		})
	}
}

// judged returns a row of finished runs with its verdict; a row that shows nothing is
// bad, too.
func (r row) judged() row {
	if r.fired == 0 {
		r.note += " never struck"
	}
	if r.done == 0 {
		r.note += " nothing was done"
	}
	r.bad = r.red > 0 || r.fired == 0 || r.done == 0
	return r
}
