package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"fika/internal/store/pgtest"
)

func main() {
	if err := chaos(); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

func chaos() error {
	o := options{keep: true}
	flag.StringVar(&o.bin, "fika", "bin/fika-chaos", "fika, built with -tags chaos")
	flag.StringVar(&o.engine, "engine", "sqlite", "where homes keep their database: sqlite, or postgres: a server of this run's own")
	flag.StringVar(&o.source, "source", ".", "the module, whose crash points are tried")
	flag.StringVar(&o.dir, "dir", "", "where homes are made; empty: the system's temporary folder")
	flag.IntVar(&o.seeds, "seeds", 20, "runs per crash point")
	flag.Uint64Var(&o.seed, "seed", 1, "the first seed")
	flag.IntVar(&o.jobs, "jobs", 2, "runs at a time")
	flag.StringVar(&o.point, "point", "", "only crash points whose name begins so; none: no points")
	flag.StringVar(&o.scene, "scene", "", "only this scene")
	flag.StringVar(&o.fault, "fault", "", "only faults whose name begins so; none: no faults")
	flag.StringVar(&o.control, "control", "", "only this negative control; none: no controls")
	flag.DurationVar(&o.soak, "soak", 0, "instead: work for this long, with random kills and pauses")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if o.dir == "" {
		o.dir = os.TempDir()
	}
	for _, path := range []*string{&o.bin, &o.dir} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if _, err := os.Stat(o.bin); err != nil {
		return fmt.Errorf("%w: go build -tags chaos -o %s ./cmd/fika", err, o.bin)
	}
	if stop, err := o.startServer(); err != nil {
		return err
	} else {
		defer stop()
	}
	began := time.Now()
	t, err := o.all(ctx)
	t.print(os.Stdout, time.Since(began))
	return err
}

// options are the knobs.
type options struct {
	bin, source, dir             string
	seeds, jobs                  int
	seed                         uint64
	point, scene, fault, control string
	soak                         time.Duration
	keep                         bool // homes of red runs
	engine                       string
	server                       *pgtest.Server // of all homes; nil: each has a file
}

// all does what the options name: by default everything but the soak.
func (o options) all(ctx context.Context) (*table, error) {
	t := &table{}
	if o.soak > 0 {
		if err := o.soakFor(ctx, t); err != nil {
			return t, err
		}
		return t, t.verdict()
	}
	if wanted(o.point, o.fault, o.control) {
		if err := o.sweep(ctx, t); err != nil {
			return t, err
		}
	}
	if wanted(o.fault, o.point, o.control) {
		if err := o.strikeAll(ctx, t); err != nil {
			return t, err
		}
	}
	if wanted(o.control, o.point, o.fault) {
		if err := o.deny(ctx, t); err != nil {
			return t, err
		}
	}
	return t, t.verdict()
}

// wanted reports whether one sort of trial is to be made: it is named, or none
// of the others is.
func wanted(this string, others ...string) bool {
	if this != "" {
		return this != "none"
	}
	for _, o := range others {
		if o != "" && o != "none" {
			return false
		}
	}
	return true
}
