/** The panels of the dashboard for Grafana, with their queries as Grafana sends them. */
import { z } from 'zod';
import { readText } from '../house/sources.ts';

const schema = z.object({
  panels: z.array(
    z.object({
      title: z.string(),
      fieldConfig: z.object({ defaults: z.object({ noValue: z.string().optional() }) }).optional(),
      targets: z.array(z.object({ expr: z.string(), legendFormat: z.string() })).optional(),
    }),
  ),
});

/** One panel that shows queries. */
export interface Panel {
  readonly title: string;
  /** What Grafana writes in place of a chart without series; undefined if there always are some. */
  readonly emptyText: string | undefined;
  readonly targets: readonly {
    readonly expression: string;
    /** The names of the series, with labels as `{{label}}`. */
    readonly legend: string;
  }[];
}

/**
 * All panels except the rows between them. The queries cover all models and channels, and 5 min.
 */
export const panels: readonly Panel[] = schema
  .parse(JSON.parse(readText('docs/dashboards/grafana.json')))
  .panels.flatMap(({ title, fieldConfig, targets }) =>
    targets === undefined
      ? []
      : [
          {
            title,
            emptyText: fieldConfig?.defaults.noValue,
            targets: targets.map(({ expr, legendFormat }) => ({
              expression: withoutVariables(expr),
              legend: legendFormat,
            })),
          },
        ],
  );

/** The queries of all panels. */
export const expressions: readonly string[] = panels.flatMap(({ targets }) =>
  targets.map(({ expression }) => expression),
);

function withoutVariables(expression: string): string {
  return expression.replaceAll('$__rate_interval', '5m').replaceAll(/\$\w+/g, '.*');
}
