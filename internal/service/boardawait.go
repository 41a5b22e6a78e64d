package service

import (
	"context"

	"fika"
	"fika/internal/system/sleep"
	"fika/internal/text/hint"
)

// Await waits until each of some tasks is done, dropped or held for a person, and returns
// them as they then stand, in the order asked for. moved, which may be nil, is told of each
// task as it stands at first and whenever its state has changed. Error kinds: NotFound,
// Denied, and Detached if ctx ends first: what is returned then is how they stood last.
func (b *Board) Await(ctx context.Context, list []fika.TaskNumber, moved func(TaskInfo)) ([]TaskInfo, error) {
	out := make([]TaskInfo, len(list))
	for {
		going := 0
		for i, n := range list {
			v, err := outlasting(ctx, b.c, nil, func(ctx context.Context) (TaskView, error) { return b.Find(context.WithoutCancel(ctx), n) })
			if err != nil {
				return nil, err
			}
			if t := v.TaskInfo; t.State != out[i].State || t.HeldReason != out[i].HeldReason || t.WorkerName != out[i].WorkerName {
				if moved != nil {
					moved(t)
				}
			}
			if out[i] = v.TaskInfo; !out[i].State.Ended() && out[i].State != fika.TaskHeld {
				going++
			}
		}
		if going == 0 {
			return out, nil
		}
		if err := sleep.For(ctx, pollEvery); err != nil {
			return out, fika.WithHint(fika.Errorf(fika.Detached, "", "you stopped waiting; %d of %d tasks are not done", going, len(list)), hint.Board)
		}
	}
}
